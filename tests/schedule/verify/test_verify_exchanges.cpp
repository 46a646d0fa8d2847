// SPDX-License-Identifier: Apache-2.0
// Rules of verify() for messages that match by order, one by one. test_verify.cpp and
// test_verify_mutations.cpp have whole plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::make_shape;

std::string verify_error_of(const Plans& plans, const PlanShape& shape) {
  try {
    verify(plans, shape, PlanUse::evaluation);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "accepted";
}

// Two stages, one layer each, one micro-batch, evaluated.
TEST(VerifyExchanges, EachRuleStandsByItself) {
  PlanShape shape{.stages = 2, .matching = MessageMatching::by_order, .layers = {{1}, {1}}};
  const Op begin{OpKind::ExchangeBegin}, end{OpKind::ExchangeEnd};
  const Op forward{OpKind::Forward}, drop{OpKind::DropFrame}, input{OpKind::DropInput};
  const Op send{OpKind::SendActivationStart}, sent{OpKind::SendActivationWait};
  const Op receive{OpKind::RecvActivationStart}, received{OpKind::RecvActivationWait};
  const Plan last = {begin, receive, end, received, forward, drop, input};
  const auto first = [&](const Plan& plan) { return verify_error_of({plan, last}, shape); };
  EXPECT_EQ(first({forward, drop, begin, send, end, sent}), "accepted");
  EXPECT_EQ(first({forward, drop, send, sent}),
            "stage 0, op 2 (send act c0 m0 start): it stands in no exchange");
  EXPECT_EQ(first({forward, begin, drop, send, end, sent}),
            "stage 0, op 2 (drop frame c0 l0 m0): it stands within an exchange");
  EXPECT_EQ(first({forward, drop, begin, send, sent, end}),
            "stage 0, op 4 (send act c0 m0 wait): it stands within an exchange");
  EXPECT_EQ(first({forward, drop, begin, begin, send, end, sent}),
            "stage 0, op 3 (exchange begin): it stands within an exchange");
  EXPECT_EQ(first({forward, drop, begin, end, begin, send, end, sent}),
            "stage 0, op 3 (exchange end): nothing is exchanged");
  EXPECT_EQ(first({end, forward, drop, begin, send, end, sent}),
            "stage 0, op 0 (exchange end): it stands in no exchange");
  EXPECT_EQ(first({forward, drop, begin, send, end, sent, begin}),
            "stage 0, end: an exchange has no end");
  shape.matching = MessageMatching::by_tag;
  EXPECT_EQ(first({forward, drop, begin, send, end, sent}),
            "stage 0, op 2 (exchange begin): messages that match by tags are in no exchange");
}

// Without tags a message meets the wrong one.
TEST(VerifyExchanges, MessagesAreSentAndReceivedInOneOrder) {
  const PlanShape shape =
      make_shape({.stages = 2, .microbatches = 2, .matching = MessageMatching::by_order});
  Plans plans = evaluation_plans(shape);
  const auto receive = [](int m) { return Op{OpKind::RecvActivationStart, 0, 0, m}; };
  const auto first = test::position_of(plans[1], receive(0));
  std::swap(plans[1][first], plans[1][test::position_of(plans[1], receive(1))]);
  std::erase(plans[1], Op{OpKind::RecvActivationWait, 0, 0, 0});
  const auto both = test::position_of(plans[1], receive(0)) + 2;
  plans[1].insert(plans[1].begin() + both, Op{OpKind::RecvActivationWait, 0, 0, 0});
  EXPECT_THAT(verify_error_of(plans, shape),
              testing::HasSubstr("one of its messages would meet another"));
}

}  // namespace
}  // namespace triax
