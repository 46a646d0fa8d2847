// What verify() accepts (every schedule with every feature) and the peaks it returns. What it must
// refuse: test_verify_mutations.cpp.
#include "src/schedule/verify.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "src/schedule/passes.hpp"
#include "src/schedule/schedules.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::Layers;
using test::make_shape;
using test::Marks;
using test::ShapeOptions;

constexpr int most_stages = 8;
constexpr int most_microbatches = 16;

// Calls use(options) for every size that the schedule can run.
template <class Use>
void for_each_size(const ScheduleRow& row, const Use& use) {
  for (int stages = 1; stages <= most_stages; ++stages)
    for (int chunks = 1; chunks <= (row.several_chunks ? 3 : 1); ++chunks)
      for (int microbatches = 1; microbatches <= most_microbatches; ++microbatches)
        if (!row.microbatches_fill_stages || microbatches % stages == 0)
          use(ShapeOptions{.stages = stages, .chunks = chunks, .microbatches = microbatches});
}

// The i-th choice of features that are on or off.
ShapeOptions with_switches(ShapeOptions options, int i) {
  options.data_parallel = (i & 1) != 0;
  options.shard_optimizer = (i & 2) != 0;
  options.tied = (i & 4) != 0;
  options.tensor_sum = (i & 8) != 0;
  options.pools = (i & 3) == 3;
  return options;
}
constexpr int switches = 16;

void expect_verified(const std::string& schedule, const ShapeOptions& options) {
  const PlanShape shape = make_shape(options);
  try {
    verify(training_plans(schedule, shape), shape, PlanUse::training);
  } catch (const std::exception& error) {
    ADD_FAILURE() << schedule << ", " << text_of(options) << ": " << error.what();
  }
}

// Sanitizers slow the proofs down tenfold: they see every fifth combination, which still meets
// every feature at every size class (5 shares no factor with the numbers of choices).
#ifdef __SANITIZE_ADDRESS__
constexpr int every = 5;
#else
constexpr int every = 1;
#endif

TEST(Verify, EveryScheduleWithEveryFeature) {
  int plans = 0;
  for (const ScheduleRow& row : schedules())
    for_each_size(row, [&](ShapeOptions options) {
      for (const Layers layers : {Layers::one, Layers::two, Layers::uneven})
        for (const Marks marks : {Marks::none, Marks::all, Marks::some})
          for (int i = 0; i < switches; ++i) {
            if (plans++ % every != 0) continue;
            options.layers = layers;
            options.recompute = marks;
            expect_verified(row.name, with_switches(options, i));
          }
    });
  EXPECT_EQ(plans, 91872);
}

TEST(Verify, Evaluation) {
  int plans = 0;
  for_each_size(schedules().front(), [&](ShapeOptions options) {
    for (const Layers layers : {Layers::one, Layers::uneven}) {
      options.layers = layers;
      const PlanShape shape = make_shape(options);
      try {
        ++plans;
        for (const Peaks& peaks : verify(evaluation_plans(shape), shape, PlanUse::evaluation))
          EXPECT_EQ(peaks.frames, std::vector<int>{1}) << text_of(options);
      } catch (const std::exception& error) {
        ADD_FAILURE() << text_of(options) << ": " << error.what();
      }
    }
  });
  EXPECT_EQ(plans, 768);
}

// Memory: the reason for 1f1b.
TEST(Peaks, OneForwardOneBackwardKeepsTheMicrobatchesOfTheStagesAfter) {
  for (int stages = 1; stages <= most_stages; ++stages)
    for (int microbatches = 1; microbatches <= most_microbatches; ++microbatches) {
      const PlanShape shape =
          make_shape({.stages = stages, .microbatches = microbatches, .layers = Layers::uneven});
      const auto peaks = verify(training_plans("1f1b", shape), shape, PlanUse::training);
      for (int s = 0; s < stages; ++s)
        EXPECT_EQ(peaks[s].frames[0], std::min(stages - s, microbatches) * shape.layers[s][0]);
    }
}

TEST(Peaks, OneForwardOneBackwardDoesNotGrowWithTheMicrobatches) {
  for (int stages = 2; stages <= most_stages; ++stages) {
    const auto peaks_of = [&](int microbatches) {
      const PlanShape shape =
          make_shape({.stages = stages, .microbatches = microbatches, .layers = Layers::two});
      return verify(training_plans("1f1b", shape), shape, PlanUse::training);
    };
    const auto few = peaks_of(stages + 2);
    const auto many = peaks_of(4 * stages);
    for (int s = 0; s < stages; ++s) {
      EXPECT_EQ(few[s].boundaries, many[s].boundaries);
      EXPECT_EQ(few[s].messages, many[s].messages);
      EXPECT_LE(many[s].messages, 4);
    }
  }
}

TEST(Peaks, GpipeKeepsAll) {
  const PlanShape shape =
      make_shape({.stages = 3, .chunks = 2, .microbatches = 5, .layers = Layers::uneven});
  const auto peaks = verify(training_plans("gpipe", shape), shape, PlanUse::training);
  for (int s = 0; s < shape.stages; ++s)
    EXPECT_EQ(peaks[s].frames[0],
              5 * std::accumulate(shape.layers[s].begin(), shape.layers[s].end(), 0));
}

TEST(Peaks, RecomputeKeepsOneFrameAPool) {
  for (const ScheduleRow& row : schedules()) {
    const PlanShape shape = make_shape({.stages = 4,
                                        .chunks = row.several_chunks ? 2 : 1,
                                        .microbatches = 8,
                                        .layers = Layers::two,
                                        .recompute = Marks::all,
                                        .pools = true});
    const auto peaks = verify(training_plans(row.name, shape), shape, PlanUse::training);
    EXPECT_EQ(peaks[0].frames, (std::vector<int>{1, 1}));  // inner layers, embedding
    EXPECT_EQ(peaks[1].frames, (std::vector<int>{1}));
    EXPECT_EQ(peaks[3].frames, (std::vector<int>{1, 0, 1}));  // inner layers, none, head
  }
}

// Two layers on one stage, one micro-batch: activation 1, then with it gradient 1.
TEST(Peaks, BoundariesCountActivationsAndGradients) {
  const PlanShape shape = make_shape({.layers = Layers::two});
  EXPECT_EQ(verify(training_plans("gpipe", shape), shape, PlanUse::training)[0].boundaries, 2);
  EXPECT_EQ(verify(evaluation_plans(shape), shape, PlanUse::evaluation)[0].boundaries, 1);
}

}  // namespace
}  // namespace triax
