// SPDX-License-Identifier: Apache-2.0
// Plans that verify() accepts (every schedule with every feature), and its rules one by one.
// test_verify_mutations.cpp makes mistakes in whole plans.
#include "src/schedule/verify/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstdlib>

#include <stdexcept>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/schedules.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::Layers;
using test::make_shape;
using test::Marks;
using test::most_microbatches;
using test::most_stages;
using test::ShapeOptions;

// Calls use(options) for every size that the schedule can run.
template <class Use>
void for_each_size(const ScheduleRow& row, const Use& use) {
  for (int stages = 1; stages <= most_stages; ++stages)
    for (int chunks = 1; chunks <= (row.several_chunks ? 3 : 1); ++chunks)
      for (int microbatches = 1; microbatches <= most_microbatches; ++microbatches)
        if (!row.microbatches_fill_stages || microbatches % stages == 0)
          use(ShapeOptions{.stages = stages, .chunks = chunks, .microbatches = microbatches});
}

// The i-th choice of the features that are on or off.
ShapeOptions with_switches(ShapeOptions options, int i) {
  options.zero = static_cast<ZeroStage>(i & 3);
  options.data_parallel = (i & 4) != 0;
  options.tied = (i & 8) != 0;
  options.tensor_sum = (i & 16) != 0;
  options.partition = i % 3 == 0;
  options.host_inputs = i % 5 < 2;
  options.pools = (i & 12) == 12;
  options.persistent = (i & 20) == 20;
  options.pieces = i % 5 == 1;
  options.replicas = i % 3 == 2;
  options.ahead = i % 5 * 15;
  options.offload = i % 7 < 3 ? 0 : i % 7 - 2;
  options.in_store = i % 2 == 1;
  options.frozen = i % 3 == 1;
  return options;
}
constexpr int switches = 32;

void expect_verified(const std::string& schedule, const ShapeOptions& options) {
  const PlanShape shape = make_shape(options);
  try {
    verify(training_plans(schedule, shape), shape, PlanUse::training);
  } catch (const std::exception& error) {
    ADD_FAILURE() << schedule << ", " << text_of(options) << ": " << error.what();
  }
}

// Every fifth combination still meets every feature at every size class (5 shares no factor with
// the numbers of choices). All of them: jobs/test.sh --long.
int step() {
  return std::getenv("TRIAX_TEST_LONG") ? 1 : 5;
}

// One of three combinations of layers and marks for each size and each choice of features.
bool is_third(const ShapeOptions& options, int choice) {
  const int both = static_cast<int>(options.layers) + static_cast<int>(options.recompute);
  return options.stages > 1 && (both + choice) % 3 == 0;
}

constexpr MessageMatching ways[] = {MessageMatching::by_tag, MessageMatching::by_order};

TEST(Verify, EveryScheduleWithEveryFeature) {
  int plans = 0;
  const int every = step();
  for (const ScheduleRow& row : schedules())
    for_each_size(row, [&](ShapeOptions options) {
      for (const Layers layers : {Layers::one, Layers::two, Layers::uneven})
        for (const Marks marks : {Marks::none, Marks::all, Marks::some})
          for (int i = 0; i < switches; ++i) {
            if (plans++ % every != 0) continue;
            options.layers = layers;
            options.recompute = marks;
            for (const MessageMatching way : ways) {
              if (way == MessageMatching::by_order && !is_third(options, i)) continue;
              options.matching = way;
              ShapeOptions chosen = with_switches(options, i);
              if (row.splits_backward && chosen.zero > ZeroStage::optimizer)
                chosen.zero = ZeroStage::optimizer;
              chosen.operands = row.splits_backward;
              expect_verified(row.name, chosen);
            }
          }
    });
  EXPECT_EQ(plans, 220608);
}

TEST(Verify, Evaluation) {
  int plans = 0;
  for_each_size(schedules().front(), [&](ShapeOptions options) {
    for (const auto& [layers, way] : {std::pair{Layers::one, ways[0]},
                                      {Layers::uneven, ways[0]},
                                      {Layers::one, ways[1]},
                                      {Layers::uneven, ways[1]}}) {
      options.layers = layers;
      options.matching = way;
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
  EXPECT_EQ(plans, 2 * 768);
}

std::string error_of(const Plans& plans, const PlanShape& shape, PlanUse use = PlanUse::training) {
  try {
    verify(plans, shape, use);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "accepted";
}

// Rules that larger plans break only together with others: one layer, no parameters.
TEST(Verify, EachRuleStandsByItself) {
  const PlanShape shape{.stages = 1, .layers = {{1}}, .recompute = {{{true}}}};
  const Op forward{OpKind::Forward};
  const Op backward{OpKind::Backward};
  const Op drop{OpKind::DropFrame};
  const Op again{OpKind::Recompute};
  const Op norm{OpKind::GradientNorm};
  const auto error_in = [&](PlanUse use, const Plan& plan) { return error_of({plan}, shape, use); };
  const auto trained = [&](const Plan& plan) { return error_in(PlanUse::training, plan); };
  const auto evaluated = [&](const Plan& plan) { return error_in(PlanUse::evaluation, plan); };
  EXPECT_EQ(trained({forward, drop, again, backward, norm}), "accepted");
  EXPECT_EQ(trained({again, backward, forward, drop, norm}),
            "stage 0, op 0 (R c0 l0 m0): its forward is yet to come");
  EXPECT_EQ(trained({forward, again, backward, norm}),
            "stage 0, op 1 (R c0 l0 m0): frame is resident already");
  EXPECT_EQ(trained({forward, drop, again, backward, again, backward, norm}),
            "stage 0, op 5 (B c0 l0 m0): it is done twice");
  EXPECT_EQ(trained({forward, norm, backward}), "stage 0, op 1 (norm): backwards are yet to come");
  EXPECT_EQ(trained({forward, backward, norm, norm}),
            "stage 0, op 3 (norm): the norm is taken twice");
  EXPECT_EQ(trained({forward, backward}), "stage 0, end: norm is missing");
  EXPECT_EQ(trained({forward, drop, {OpKind::DropInput}}),
            "stage 0, op 2 (drop input c0 l0 m0): the backward pass needs the input");
  EXPECT_EQ(trained({forward, {static_cast<OpKind>(op_kind_count)}}),
            "stage 0, op 1 (unknown instruction " + std::to_string(op_kind_count) +
                "): there is no such instruction");
  EXPECT_EQ(evaluated({forward, drop}), "accepted");
  EXPECT_EQ(evaluated({forward, drop, norm}),
            "stage 0, op 2 (norm): a forward-only plan has no such instruction");
  EXPECT_EQ(evaluated({forward, drop, {OpKind::DropInput}}),
            "stage 0, op 2 (drop input c0 l0 m0): the model's first layer has no input");
}

TEST(Verify, ErrorsSayWhere) {
  const PlanShape shape = make_shape({.stages = 2, .microbatches = 2});
  const Plans right = training_plans("1f1b", shape);
  Plans plans = right;
  std::swap(plans[1][2], plans[1][4]);  // forward and backward of micro-batch 0
  EXPECT_EQ(error_of(plans, shape), "stage 1, op 2 (B c0 l0 m0): frame is not resident");
  plans = right;
  plans[1].erase(plans[1].begin() + 1);
  EXPECT_EQ(
      error_of(plans, shape),
      "stage 1, op 1 (F c0 l0 m0): its input is in flight (it must be there, and not in flight)");
  plans.pop_back();
  EXPECT_EQ(error_of(plans, shape), "there are 1 plans for 2 stages");
  plans = right;
  plans[0][0].microbatch = 2;
  EXPECT_EQ(error_of(plans, shape), "stage 0, op 0 (F c0 l0 m2): there is no such micro-batch");
  plans = right;
  plans[1].insert(plans[1].begin() + 1, plans[1][0]);
  EXPECT_EQ(error_of(plans, shape),
            "stage 1, op 1 (recv act c0 m0 start): the input is in flight (it must be not there)");
  plans = right;
  plans[1].push_back(plans[1][0]);
  EXPECT_THAT(error_of(plans, shape),
              testing::HasSubstr("(recv act c0 m0 start): the message is posted twice"));
  const PlanShape small = make_shape({.stages = 2});
  plans = evaluation_plans(small);
  std::swap(plans[1][2], plans[1][4]);
  EXPECT_EQ(error_of(plans, small, PlanUse::evaluation),
            "stage 1, op 2 (drop input c0 l0 m0): its forward is yet to come");
  plans = {{}, {}};
  EXPECT_EQ(error_of(plans, shape), "stage 0, end: F c0 l0 m0 is missing");
  PlanShape wrong = shape;
  wrong.layers.pop_back();
  EXPECT_THROW(verify(right, wrong, PlanUse::training), std::invalid_argument);
}

// The second of two layers is recomputed, from an input that is sharded meanwhile.
TEST(Verify, APartitionedInputIsWholeWhereItIsRead) {
  const PlanShape shape{
      .stages = 1, .layers = {{2}}, .recompute = {{{true, true}}}, .partition_inputs = true};
  const auto at = [](OpKind kind, int layer) { return Op{.kind = kind, .layer = layer}; };
  const Op f0 = at(OpKind::Forward, 0), f1 = at(OpKind::Forward, 1);
  const Op b0 = at(OpKind::Backward, 0), b1 = at(OpKind::Backward, 1);
  const Op drop = at(OpKind::DropFrame, 1), again = at(OpKind::Recompute, 1);
  const Op part = at(OpKind::PartitionInput, 1), gather = at(OpKind::GatherInput, 1);
  const Op norm{OpKind::GradientNorm};
  const auto error = [&](const Plan& plan) { return error_of({plan}, shape); };
  EXPECT_EQ(error({f0, f1, drop, part, gather, again, b1, b0, norm}), "accepted");
  EXPECT_EQ(error({f0, f1, drop, again, b1, b0, norm}), "accepted") << "kept whole";
  EXPECT_EQ(error({f0, part}), "stage 0, op 1 (part input c0 l1 m0): its forward is yet to come");
  EXPECT_EQ(error({f0, f1, part, part}),
            "stage 0, op 3 (part input c0 l1 m0): the part of its input is there, and not in "
            "flight (it must be not there)");
  EXPECT_EQ(
      error({f0, f1, drop, part, again, b1}),
      "stage 0, op 4 (R c0 l1 m0): its input is not there (it must be there, and not in flight)");
  EXPECT_EQ(
      error({f0, f1, part, b1}),
      "stage 0, op 3 (B c0 l1 m0): its input is not there (it must be there, and not in flight)");
  EXPECT_EQ(error({f0, f1, gather}),
            "stage 0, op 2 (gather input c0 l1 m0): its input is there, and not in flight (it must "
            "be not there)");
  EXPECT_EQ(error({f0, gather}),
            "stage 0, op 1 (gather input c0 l1 m0): its input is there, and not in flight (it must "
            "be not there)");
  EXPECT_EQ(error({f0, f1, at(OpKind::PartitionInput, 0)}),
            "stage 0, op 2 (part input c0 l0 m0): the shape does not partition the input of this "
            "layer")
      << "the model's first layer reads tokens";
}

}  // namespace
}  // namespace triax
