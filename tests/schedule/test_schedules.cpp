// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/schedules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::make_shape;

// "F0.1" is the forward of micro-batch 1 through chunk 0.
std::string compact(const Plan& plan) {
  std::string text;
  for (const Op& op : plan) {
    EXPECT_EQ(op.layer, -1);
    if (!text.empty()) text += ' ';
    text += op.kind == OpKind::Forward ? 'F' : op.kind == OpKind::Backward ? 'B' : 'W';
    text += std::to_string(op.chunk) + "." + std::to_string(op.microbatch);
  }
  return text;
}

std::string error_of(const std::string& name, const PlanShape& shape) {
  try {
    make_schedule(name, shape);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(Schedules, Gpipe) {
  const Plans plans =
      make_schedule("gpipe", make_shape({.stages = 2, .chunks = 2, .microbatches = 3}));
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(compact(plans[0]), "F0.0 F0.1 F0.2 F1.0 F1.1 F1.2 B1.0 B1.1 B1.2 B0.0 B0.1 B0.2");
  EXPECT_EQ(plans[0], plans[1]);
}

// Narayanan et al. 2021, figure 4, top.
TEST(Schedules, OneForwardOneBackward) {
  const Plans plans = make_schedule("1f1b", make_shape({.stages = 4, .microbatches = 5}));
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(compact(plans[0]), "F0.0 F0.1 F0.2 F0.3 B0.0 F0.4 B0.1 B0.2 B0.3 B0.4");
  EXPECT_EQ(compact(plans[2]), "F0.0 F0.1 B0.0 F0.2 B0.1 F0.3 B0.2 F0.4 B0.3 B0.4");
  EXPECT_EQ(compact(plans[3]), "F0.0 B0.0 F0.1 B0.1 F0.2 B0.2 F0.3 B0.3 F0.4 B0.4");
  const Plans few = make_schedule("1f1b", make_shape({.stages = 4, .microbatches = 2}));
  EXPECT_EQ(compact(few[0]), "F0.0 F0.1 B0.0 B0.1");
}

// Megatron-LM's order: stage r of P starts with 2 (P - r - 1) + (chunks - 1) P forwards.
TEST(Schedules, Interleaved) {
  const Plans plans =
      make_schedule("interleaved", make_shape({.stages = 2, .chunks = 2, .microbatches = 4}));
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(compact(plans[0]),
            "F0.0 F0.1 F1.0 F1.1 F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 B1.2 B1.3 B0.2 B0.3");
  EXPECT_EQ(compact(plans[1]),
            "F0.0 F0.1 F1.0 B1.0 F1.1 B1.1 F0.2 B0.0 F0.3 B0.1 F1.2 B1.2 F1.3 B1.3 B0.2 B0.3");
  const Plans one = make_schedule("interleaved", make_shape({.chunks = 2, .microbatches = 2}));
  EXPECT_EQ(compact(one[0]), "F0.0 F1.0 B1.0 F0.1 B0.0 F1.1 B1.1 B0.1");
}

// Qi et al. 2023, ZB-H1.
TEST(Schedules, ZeroBubble) {
  const Plans plans = make_schedule("zero-bubble", make_shape({.stages = 3, .microbatches = 4}));
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_EQ(compact(plans[0]), "F0.0 F0.1 F0.2 B0.0 W0.0 F0.3 B0.1 W0.1 B0.2 W0.2 B0.3 W0.3");
  EXPECT_EQ(compact(plans[1]), "F0.0 F0.1 B0.0 F0.2 B0.1 W0.0 F0.3 B0.2 W0.1 B0.3 W0.2 W0.3");
  EXPECT_EQ(compact(plans[2]), "F0.0 B0.0 F0.1 B0.1 F0.2 B0.2 W0.0 F0.3 B0.3 W0.1 W0.2 W0.3");
  const Plans few = make_schedule("zero-bubble", make_shape({.stages = 3, .microbatches = 1}));
  EXPECT_EQ(compact(few[2]), "F0.0 B0.0 W0.0");
}

TEST(Schedules, ForwardOnly) {
  const Plans plans = forward_only(make_shape({.stages = 2, .chunks = 2, .microbatches = 2}));
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(compact(plans[1]), "F0.0 F0.1 F1.0 F1.1");
}

TEST(Schedules, ForwardOnlyKeepsAsMuchForAnyNumberOfMicrobatches) {
  const auto peak = [](int microbatches) {
    const PlanShape shape = make_shape({.stages = 4, .chunks = 2, .microbatches = microbatches});
    int most = 0;
    for (const Peaks& peaks : verify(evaluation_plans(shape), shape, PlanUse::evaluation))
      most = std::max(most, peaks.boundaries);
    return most;
  };
  EXPECT_EQ(peak(16), peak(64));
  EXPECT_EQ(peak(16), peak(63));  // the last group is not whole
}

TEST(Schedules, Table) {
  ASSERT_EQ(schedules().size(), 4u);
  EXPECT_EQ(schedules()[0].name, "gpipe");
  EXPECT_EQ(schedules()[1].name, "1f1b");
  EXPECT_EQ(schedules()[2].name, "interleaved");
  EXPECT_EQ(schedules()[3].name, "zero-bubble");
}

TEST(Schedules, ErrorsSayWhatToChange) {
  EXPECT_EQ(
      error_of("zero", make_shape({})),
      "there is no schedule \"zero\". Set parallel.schedule to one of gpipe, 1f1b, interleaved, "
      "zero-bubble");
  EXPECT_EQ(error_of("1f1b", make_shape({.stages = 2, .chunks = 3})),
            "schedule 1f1b runs one chunk per stage (parallel.chunks is 3). Set parallel.chunks to "
            "1, or parallel.schedule to one of gpipe, interleaved");
  EXPECT_EQ(
      error_of("interleaved", make_shape({.stages = 4, .chunks = 2, .microbatches = 6})),
      "schedule interleaved takes micro-batches in groups of 4, the pipeline stages (there are 6). "
      "Make gradient_accumulation_steps a multiple of 4");
  PlanShape empty = make_shape({.stages = 2});
  empty.layers[1][0] = 0;
  EXPECT_EQ(error_of("gpipe", empty).substr(0, 34), "stage 1, chunk 0 has no layer (the");
}

}  // namespace
}  // namespace triax
