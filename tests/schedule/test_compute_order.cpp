// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/compute_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/schedules.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::make_shape;
using test::ShapeOptions;
using testing::HasSubstr;

const std::string head = "stage,operation,chunk,microbatch\n";

std::string error_of_text(const std::string& text) {
  try {
    order_of_text(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of_order(const std::string& lines, int stages = 2, int microbatches = 2) {
  try {
    check_order(order_of_text(head + lines), stages, 1, microbatches);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(ComputeOrder, TheTextOfAScheduleIsThatSchedule) {
  for (const ScheduleRow& row : schedules()) {
    const int chunks = row.several_chunks ? 2 : 1;
    const PlanShape shape = make_shape({.stages = 3, .chunks = chunks, .microbatches = 6});
    const Plans plans = make_schedule(row.name, shape);
    EXPECT_EQ(order_of_text(text_of_order(plans)), plans) << row.name;
    EXPECT_EQ(splits_backward(plans), row.splits_backward);
    check_order(plans, 3, chunks, 6);
  }
}

TEST(ComputeOrder, AScheduleByHandMakesItsPlans) {
  PlanShape shape = make_shape({.stages = 2, .microbatches = 3, .operands = true});
  shape.order = make_schedule("zero-bubble", shape);
  EXPECT_TRUE(schedule("file:o.csv", shape.order).splits_backward);
  EXPECT_EQ(training_plans("file:o.csv", shape), training_plans("zero-bubble", shape));
}

TEST(ComputeOrder, CommentsAndBlanksArePassedOver) {
  const Plans plans = order_of_text("\xEF\xBB\xBF# by hand\r\n\r\n" + head +
                                    " 1 , F ,0, 0\r\n# more\n0,F,0,0 # first\n0,B,0,0");
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[0], (Plan{{OpKind::Forward, 0, all, 0}, {OpKind::Backward, 0, all, 0}}));
  EXPECT_EQ(plans[1], (Plan{{OpKind::Forward, 0, all, 0}}));
}

TEST(ComputeOrder, AWrongTextIsNamedByItsLine) {
  EXPECT_THAT(error_of_text(""), HasSubstr("no instructions"));
  EXPECT_THAT(error_of_text(head), HasSubstr("no instructions"));
  EXPECT_THAT(error_of_text("0,F,0,0\n"), HasSubstr("line 1: the first line must be stage,"));
  EXPECT_THAT(error_of_text(head + "0,F,0\n"), HasSubstr("line 2: it has 3 fields, not the 4"));
  EXPECT_THAT(error_of_text(head + "0,F,0,0,\n"), HasSubstr("it has 5 fields"));
  EXPECT_THAT(error_of_text(head + "\n0,R,0,0\n"),
              HasSubstr("line 3: there is no operation \"R\""));
  EXPECT_THAT(error_of_text(head + "0,F,0,-1\n"), HasSubstr("the microbatch is \"-1\""));
  EXPECT_THAT(error_of_text(head + "0,F,x,1\n"), HasSubstr("the chunk is \"x\""));
  EXPECT_THAT(error_of_text(head + "99999999999,F,0,1\n"), HasSubstr("the stage is"));
  EXPECT_THAT(error_of_text(head + "99999999,F,0,1\n"), HasSubstr("must be below 1000000"));
}

TEST(ComputeOrder, AWrongOrderIsNamedByItsInstruction) {
  const std::string first = "0,F,0,0\n0,F,0,1\n0,B,0,0\n0,B,0,1\n";
  EXPECT_EQ(error_of_order(first + "1,F,0,0\n1,B,0,0\n1,F,0,1\n1,B,0,1\n"), "no error");
  EXPECT_THAT(error_of_order(first), HasSubstr("it has 1 stages, the job 2"));
  EXPECT_THAT(error_of_order(first + "1,F,0,0\n1,B,0,0\n1,F,0,1\n"),
              HasSubstr("stage 1: B c0 m1 is missing"));
  EXPECT_THAT(error_of_order(first + "1,F,0,0\n1,F,0,0\n"),
              HasSubstr("stage 1: F c0 m0 stands where micro-batch 1 is due"));
  EXPECT_THAT(error_of_order(first + "1,F,0,1\n"),
              HasSubstr("F c0 m1 stands where micro-batch 0 is due"));
  EXPECT_THAT(error_of_order(first + "1,F,0,0\n1,F,0,1\n1,F,0,2\n"),
              HasSubstr("micro-batches 0 to 1 ("));
  EXPECT_THAT(error_of_order(first + "1,F,1,0\n"), HasSubstr("chunks 0 to 0 (parallel.chunks)"));
  EXPECT_THAT(error_of_order(first + "1,F,0,0\n1,F,0,1\n1,B,0,0\n1,W,0,0\n1,B,0,1\n1,W,0,1\n"),
              HasSubstr("stage 0: W c0 m0 is missing"));
}

TEST(ComputeOrder, AStageThatWaitsForeverIsNamed) {
  EXPECT_EQ(error_of_order("0,B,0,0\n0,F,0,0\n", 1, 1),
            "stage 0 waits forever before B c0 m0: it needs F c0 m0 of stage 0, which comes later");
  EXPECT_EQ(error_of_order("0,F,0,0\n0,B,0,0\n0,F,0,1\n0,B,0,1\n"
                           "1,F,0,0\n1,F,0,1\n1,B,0,0\n1,B,0,1\n"),
            "stage 0 waits forever before B c0 m0: it needs B c0 m0 of stage 1, which comes after "
            "F c0 m1 there");
}

// An order that the rules allow, chosen by chance: some stage does its next forward, backward or
// weight gradient of some chunk, if what it needs is done.
Plans random_order(const PlanShape& shape, bool splits, std::mt19937& random) {
  const int global = shape.stages * shape.chunks;
  std::vector<int> forward(global), backward(global), weights(global);
  const auto pick = [&](int most) { return static_cast<int>(random() % most); };
  Plans order(shape.stages);
  const int kinds = splits ? 3 : 2;
  for (int left = kinds * global * shape.microbatches; left > 0;) {
    const int g = pick(global), kind = pick(kinds);
    const std::vector<int>& before = kind == 0 ? forward : backward;
    std::vector<int>& counts = kind == 0 ? forward : kind == 1 ? backward : weights;
    int available = shape.microbatches;
    if (kind == 0 && g > 0) available = before[g - 1];
    if (kind == 1) available = std::min(forward[g], g + 1 < global ? backward[g + 1] : available);
    if (kind == 2) available = backward[g];
    if (counts[g] >= available) continue;
    constexpr OpKind names[] = {OpKind::Forward, OpKind::Backward, OpKind::WeightGradient};
    order[g % shape.stages].push_back({names[kind], g / shape.stages, all, counts[g]++});
    --left;
  }
  return order;
}

// Messages, recomputation, ZeRO and offload are lowered into any order, and the plans run.
TEST(ComputeOrder, EveryOrderThatRunsHasAPlanThatRuns) {
  std::mt19937 random(20261130);
  const auto pick = [&](int most) { return static_cast<int>(random() % most); };
  for (int i = 0; i < 2000; ++i) {
    ShapeOptions options{.stages = 1 + pick(4), .chunks = 1 + pick(3), .microbatches = 1 + pick(5)};
    options.matching = pick(2) == 0 ? MessageMatching::by_tag : MessageMatching::by_order;
    options.layers = static_cast<test::Layers>(pick(3));
    options.recompute = static_cast<test::Marks>(pick(3));
    options.partition = pick(2) == 0;
    options.operands = pick(2) == 0;
    options.data_parallel = pick(2) == 0;
    options.zero = static_cast<ZeroStage>(pick(options.operands ? 2 : 4));
    options.ahead = pick(4);
    options.tied = pick(2) == 0;
    options.tensor_sum = pick(2) == 0;
    options.frozen = pick(3) == 0;
    PlanShape shape = make_shape(options);
    shape.order = random_order(shape, options.operands, random);
    SCOPED_TRACE(text_of(options) + "\n" + text_of_order(shape.order));
    try {
      verify(training_plans("file:random.csv", shape), shape, PlanUse::training);
    } catch (const std::exception& error) {
      FAIL() << error.what();
    }
  }
}

}  // namespace
}  // namespace triax
