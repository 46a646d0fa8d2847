// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/schedules.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::lines_of;
using test::make_shape;

PlanShape shape_of(int stages, int chunks, int microbatches) {
  return make_shape({.stages = stages,
                     .chunks = chunks,
                     .microbatches = microbatches,
                     .matching = MessageMatching::by_order});
}

// Megatron-LM's pairs: in the steady state an activation goes to the stage that a gradient comes
// from.
TEST(AddExchanges, OneForwardOneBackwardSendsAndReceivesAtOnce) {
  const PlanShape shape = shape_of(3, 1, 4);
  const Plans plans = add_exchanges(make_schedule("1f1b", shape), shape);
  EXPECT_THAT(
      lines_of(plans[1]),
      testing::ElementsAre(
          "exchange begin", "recv act c0 m0 start", "exchange end",  //
          "recv act c0 m0 wait", "F c0 m0",                          //
          "exchange begin", "recv act c0 m1 start", "send act c0 m0 start", "exchange end",
          "recv act c0 m1 wait", "F c0 m1", "send act c0 m0 wait",  //
          "exchange begin", "recv act c0 m2 start", "send act c0 m1 start", "exchange end",
          "exchange begin", "recv grad c0 m0 start", "exchange end",  //
          "recv grad c0 m0 wait", "B c0 m0", "send act c0 m1 wait",   //
          "exchange begin", "send grad c0 m0 start", "exchange end",  //
          "recv act c0 m2 wait", "F c0 m2", "send grad c0 m0 wait",   //
          "exchange begin", "send act c0 m2 start", "recv grad c0 m1 start", "exchange end",
          "recv grad c0 m1 wait", "B c0 m1", "send act c0 m2 wait",  //
          "exchange begin", "recv act c0 m3 start", "send grad c0 m1 start", "exchange end",
          "recv act c0 m3 wait", "F c0 m3", "send grad c0 m1 wait",  //
          "exchange begin", "send act c0 m3 start", "recv grad c0 m2 start", "exchange end",
          "recv grad c0 m2 wait", "B c0 m2", "send act c0 m3 wait",   //
          "exchange begin", "send grad c0 m2 start", "exchange end",  //
          "exchange begin", "recv grad c0 m3 start", "exchange end",  //
          "recv grad c0 m3 wait", "B c0 m3", "send grad c0 m2 wait",  //
          "exchange begin", "send grad c0 m3 start", "exchange end", "send grad c0 m3 wait"));
}

template <class Use>
void for_each_plan(const Use& use) {
  for (const auto& [name, chunks] :
       {std::pair{"gpipe", 1}, {"gpipe", 3}, {"1f1b", 1}, {"interleaved", 3}})
    for (int stages = 2; stages <= 5; ++stages)
      for (const int microbatches : {stages, 3 * stages}) {
        const PlanShape shape = shape_of(stages, chunks, microbatches);
        SCOPED_TRACE(name + (", " + std::to_string(stages)));
        for (const Plan& plan : add_exchanges(make_schedule(name, shape), shape)) use(plan);
      }
}

// A stage makes one message at a time, so the order of messages within an exchange does not matter.
TEST(AddExchanges, HaveOneSendAtMost) {
  for_each_plan([](const Plan& plan) {
    int sends = 0, messages = 0;
    for (const Op& op : plan) {
      if (op.kind == OpKind::ExchangeBegin) sends = messages = 0;
      sends += op.kind == OpKind::SendActivationStart || op.kind == OpKind::SendGradientStart;
      messages += group_of(op.kind) == OpGroup::message;
      if (op.kind != OpKind::ExchangeEnd) continue;
      EXPECT_LE(sends, 1);
      EXPECT_GE(messages, 2 + 1);  // with its begin and end
      EXPECT_LE(messages, 2 + 3);
    }
  });
}

// A send starts right after the instruction that makes its data, and overlaps one instruction.
TEST(AddExchanges, SendsStandBehindWhatMakesThemAndHaveComputeBesideThem) {
  for_each_plan([](const Plan& plan) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const bool activation = plan[i].kind == OpKind::SendActivationStart;
      if (!activation && plan[i].kind != OpKind::SendGradientStart) continue;
      const auto compute =
          std::find_if(plan.rend() - static_cast<std::ptrdiff_t>(i), plan.rend(),
                       [](const Op& op) { return group_of(op.kind) == OpGroup::compute; });
      ASSERT_NE(compute, plan.rend());
      EXPECT_EQ(compute->kind, activation ? OpKind::Forward : OpKind::Backward);
      EXPECT_EQ(compute->microbatch, plan[i].microbatch);
      Op wait = plan[i];
      wait.kind = activation ? OpKind::SendActivationWait : OpKind::SendGradientWait;
      const auto end = plan.begin() + test::position_of(plan, wait);
      const auto between =
          std::count_if(plan.begin() + static_cast<std::ptrdiff_t>(i), end,
                        [](const Op& op) { return group_of(op.kind) == OpGroup::compute; });
      const bool last = std::none_of(
          end, plan.end(), [](const Op& op) { return group_of(op.kind) == OpGroup::compute; });
      EXPECT_TRUE(between >= 1 || last) << text_of(plan[i]);
    }
  });
}

// The plans have exactly the messages of plans that match by tag.
TEST(AddExchanges, HaveTheMessagesOfPlansWithTags) {
  const PlanShape shape = shape_of(4, 2, 8);
  const Plans schedule = make_schedule("interleaved", shape);
  const Plans with = add_exchanges(schedule, shape), without = add_point_to_point(schedule, shape);
  for (int s = 0; s < shape.stages; ++s) {
    std::multiset<Op> exchanged(with[s].begin(), with[s].end());
    exchanged.erase({OpKind::ExchangeBegin});
    exchanged.erase({OpKind::ExchangeEnd});
    EXPECT_EQ(exchanged, std::multiset<Op>(without[s].begin(), without[s].end()));
  }
}

// Receives posted early, as tags allow, block what their sender needs first.
TEST(AddExchanges, PlansForTagsWouldDeadlock) {
  PlanShape shape = shape_of(2, 1, 3);
  shape.matching = MessageMatching::by_tag;
  Plans plans = training_plans("1f1b", shape);
  EXPECT_NO_THROW(verify(plans, shape, PlanUse::training));
  shape.matching = MessageMatching::by_order;
  for (Plan& plan : plans) {  // one exchange per message
    Plan alone;
    for (const Op& op : plan) {
      const bool starts =
          group_of(op.kind) == OpGroup::message && text_of(op).find("start") != std::string::npos;
      if (starts) alone.push_back({OpKind::ExchangeBegin});
      alone.push_back(op);
      if (starts) alone.push_back({OpKind::ExchangeEnd});
    }
    plan = alone;
  }
  try {
    verify(plans, shape, PlanUse::training);
    FAIL() << "no deadlock";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("(exchange end): waits for ever; so does"));
  }
}

TEST(AddExchanges, OneStageHasNone) {
  const PlanShape shape = shape_of(1, 2, 3);
  const Plans plans = make_schedule("gpipe", shape);
  EXPECT_EQ(add_exchanges(plans, shape), plans);
}

TEST(AddExchanges, RefuseAnInputThatIsNeverMade) {
  const PlanShape shape = shape_of(2, 1, 1);
  const Plans plans = {{{OpKind::Backward, 0, -1, 0}, {OpKind::Forward, 0, -1, 0}},
                       {{OpKind::Forward, 0, -1, 0}, {OpKind::Backward, 0, -1, 0}}};
  EXPECT_THROW(add_exchanges(plans, shape), std::logic_error);
}

}  // namespace
}  // namespace triax
