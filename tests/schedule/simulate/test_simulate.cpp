// SPDX-License-Identifier: Apache-2.0
// Timelines of whole pipelines against the formulas of their schedules.
#include "src/schedule/simulate/simulate.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/schedules.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::make_shape;
using testing::HasSubstr;

// Forward, backward, and messages between stages; all else is free.
class Times : public OpTimes {
 public:
  Times(double forward, double backward, double message, double weights = 0.0)
      : forward_(forward), backward_(backward), message_(message), weights_(weights) {}
  OpTime of(int /*stage*/, const Op& op) const override {
    if (op.kind == OpKind::Forward || op.kind == OpKind::Recompute) return {.holds = forward_};
    if (op.kind == OpKind::Backward) return {.holds = backward_};
    if (op.kind == OpKind::WeightGradient) return {.holds = weights_};
    return group_of(op.kind) == OpGroup::message && sends(op.kind) ? OpTime{.transfer = message_}
                                                                   : OpTime{};
  }

 private:
  double forward_, backward_, message_, weights_;
};

constexpr MessageMatching both_ways[] = {MessageMatching::by_tag, MessageMatching::by_order};

Timeline timeline(const std::string& schedule, test::ShapeOptions options, const Times& times,
                  MessageMatching matching = MessageMatching::by_tag) {
  options.matching = matching;
  const PlanShape shape = make_shape(options);
  return simulate(training_plans(schedule, shape), shape, times);
}

TEST(Simulate, OneStageTakesTheSumOfItsInstructions) {
  const Timeline one = timeline("1f1b", {.microbatches = 3}, {1.0, 2.0, 0.5});
  EXPECT_DOUBLE_EQ(one.makespan, 9.0);
  EXPECT_DOUBLE_EQ(one.bubble(), 0.0);
  EXPECT_DOUBLE_EQ(one.busy(), 1.0);
}

// Narayanan et al. 2021: (p - 1) / m of the ideal time is idle.
TEST(Simulate, BubbleOf1f1bAndGpipeIsTheFormula) {
  for (const MessageMatching matching : both_ways)
    for (const char* schedule : {"1f1b", "gpipe"})
      for (const int p : {2, 4, 8})
        for (const int m : {1, 2, 4, 8, 16}) {
          SCOPED_TRACE(std::string(schedule) + " p " + std::to_string(p) + " m " +
                       std::to_string(m));
          const Timeline t =
              timeline(schedule, {.stages = p, .microbatches = m}, {1.0, 2.0, 0.0}, matching);
          EXPECT_DOUBLE_EQ(t.makespan, 3.0 * (m + p - 1));
          EXPECT_NEAR(t.bubble(), (p - 1.0) / (m + p - 1.0), 1e-12);
          for (const StageTimes& stage : t.stages) EXPECT_DOUBLE_EQ(stage.busy, 3.0 * m);
        }
}

// The same, divided by the number of chunks.
TEST(Simulate, BubbleOfInterleavedIsTheFormula) {
  for (const MessageMatching matching : both_ways)
    for (const int p : {2, 4})
      for (const int v : {2, 3})
        for (const int m : {4, 8, 12}) {
          const Timeline t = timeline("interleaved", {.stages = p, .chunks = v, .microbatches = m},
                                      {1.0, 2.0, 0.0}, matching);
          EXPECT_DOUBLE_EQ(t.makespan, 3.0 * (m * v + p - 1)) << p << " " << v << " " << m;
        }
}

// Qi et al. 2023: with forward, backward and weight gradients of one time unit each, ZB-H1 takes
// 3 m + p - 1, and 1f1b 3 m + 3 (p - 1).
TEST(Simulate, BubbleOfZeroBubbleIsTheFormula) {
  for (const MessageMatching matching : both_ways)
    for (const int p : {2, 4, 8})
      for (const int m : {8, 16, 24}) {
        PlanShape shape = make_shape({.stages = p, .microbatches = m, .matching = matching});
        shape.operand_pool.assign(static_cast<std::size_t>(p), {{1}});
        const Timeline t =
            simulate(training_plans("zero-bubble", shape), shape, Times(1.0, 1.0, 0.0, 1.0));
        EXPECT_DOUBLE_EQ(t.makespan, 3.0 * m + p - 1) << p << " " << m;
      }
}

TEST(Simulate, MessagesOfTheFirstAndLastMicrobatchAreSeen) {
  for (const MessageMatching matching : both_ways) {
    const Timeline t =
        timeline("1f1b", {.stages = 2, .microbatches = 1}, {1.0, 2.0, 0.25}, matching);
    EXPECT_DOUBLE_EQ(t.makespan, 6.0 + 2 * 0.25);  // there and back
  }
}

TEST(Simulate, WorkAloneExplainsAStagesTime) {
  const Timeline t = timeline(
      "1f1b", {.stages = 4, .microbatches = 8, .recompute = test::Marks::all}, {1.0, 2.0, 0.1});
  for (const StageTimes& stage : t.stages) {
    EXPECT_LE(stage.end(), t.makespan + 1e-12);
    EXPECT_GE(stage.busy, 8 * 4.0);
  }
}

// Reductions run beside the compute that is left.
TEST(Simulate, ReductionsOverlapTheBackwardPass) {
  class Slow : public Times {
   public:
    explicit Slow(double reduce) : Times(1.0, 2.0, 0.0), reduce_(reduce) {}
    OpTime of(int stage, const Op& op) const override {
      return op.kind == OpKind::ReduceStart ? OpTime{.transfer = reduce_} : Times::of(stage, op);
    }

   private:
    double reduce_;
  };
  test::ShapeOptions options{.microbatches = 2, .layers = test::Layers::two};
  options.data_parallel = true;
  options.zero = ZeroStage::optimizer;
  options.ahead = 1 << 20;
  const PlanShape shape = make_shape(options);
  const Plans plans = training_plans("1f1b", shape);
  const double alone = simulate(plans, shape, Slow(0.0)).makespan;
  const Timeline quick = simulate(plans, shape, Slow(0.5)),
                 slow = simulate(plans, shape, Slow(50.0));
  EXPECT_LT(quick.makespan, alone + 1.0);
  EXPECT_GT(slow.makespan, 100.0);
  EXPECT_GT(slow.stages[0].data, 90.0);
}

TEST(Simulate, IntervalsAreInOrderAndInside) {
  const PlanShape shape = make_shape({.stages = 2, .microbatches = 4});
  const Timeline t = simulate(training_plans("1f1b", shape), shape, Times(1.0, 2.0, 0.5), true);
  for (const StageTimes& stage : t.stages) {
    ASSERT_FALSE(stage.intervals.empty());
    double last = 0.0, busy = 0.0;
    for (const OpInterval& one : stage.intervals) {
      EXPECT_GE(one.begin, last);
      last = one.end;
      busy += one.end - one.begin;
    }
    EXPECT_LE(last, t.makespan);
    EXPECT_DOUBLE_EQ(busy, stage.busy);
  }
}

TEST(Simulate, ADeadlockNamesItsInstructions) {
  const PlanShape shape = make_shape({.stages = 2, .microbatches = 1});
  Plans plans = training_plans("1f1b", shape);
  std::erase_if(plans[1], [](const Op& op) { return op.kind == OpKind::SendGradientStart; });
  try {
    simulate(plans, shape, Times(1.0, 2.0, 0.0));
    FAIL() << "no error";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("stage 0, op"));
    EXPECT_THAT(error.what(), HasSubstr("recv grad c0 m0 wait"));
    EXPECT_THAT(error.what(), HasSubstr("waits for ever"));
  }
}

TEST(Simulate, RefusesAWrongNumberOfPlans) {
  const PlanShape shape = make_shape({.stages = 2, .microbatches = 1});
  EXPECT_THROW(simulate({}, shape, Times(1.0, 2.0, 0.0)), std::logic_error);
}

}  // namespace
}  // namespace triax
