// SPDX-License-Identifier: Apache-2.0
// Peaks of buffers that verify() returns.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/schedules.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::Layers;
using test::make_shape;
using test::Marks;
using test::most_microbatches;
using test::most_stages;

// The memory bound that is the reason for 1f1b.
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
    for (int s = 0; s < stages; ++s) EXPECT_EQ(few[s].boundaries, many[s].boundaries);
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

// Embedding, two recomputed blocks, head: the blocks' inputs are parts except while they are read.
TEST(Peaks, PartsStandForBoundaries) {
  PlanShape shape{.stages = 1, .microbatches = 3, .layers = {{4}}};
  shape.recompute = {{{false, true, true, false}}};
  const auto peaks = [&] {
    return verify(training_plans("gpipe", shape), shape, PlanUse::training).front();
  };
  EXPECT_EQ(peaks().boundaries, 3 * 3 + 1);
  EXPECT_EQ(peaks().parts, 0);
  shape.partition_inputs = true;
  EXPECT_EQ(peaks().boundaries, 3 * 1 + 2);  // the head's inputs, two gradients
  EXPECT_EQ(peaks().parts, 3 * 2);
}

// Two layers on one stage, one micro-batch: activation 1, then with it gradient 1.
TEST(Peaks, BoundariesCountActivationsAndGradients) {
  const PlanShape shape = make_shape({.layers = Layers::two});
  EXPECT_EQ(verify(training_plans("gpipe", shape), shape, PlanUse::training)[0].boundaries, 2);
  EXPECT_EQ(verify(evaluation_plans(shape), shape, PlanUse::evaluation)[0].boundaries, 1);
}

}  // namespace
}  // namespace triax
