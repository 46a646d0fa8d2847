// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/answer_form.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace triax::test {
namespace {

TEST(AnswerForm, TokensEndAnAnswerOrDoNot) {
  TokenConstraints constraints([] { return std::vector<std::string>{"", "a", "b"}; });
  GenerationRequest request;
  request.end_tokens = {0};
  EXPECT_FALSE(mask_of(nullptr, request));
  EXPECT_TRUE(ends_answer(nullptr, request, 0));
  EXPECT_FALSE(ends_answer(nullptr, request, 1));
  const auto form = constraints.make({.kind = ConstraintSpec::Kind::regex, .text = "aa?b"});
  EXPECT_FALSE(mask_of(form.get(), request)->has(0)) << "nothing may end yet";
  EXPECT_FALSE(ends_answer(form.get(), request, 1));
  EXPECT_TRUE(mask_of(form.get(), request)->has(2));
  EXPECT_TRUE(ends_answer(form.get(), request, 2)) << "nothing may follow";
  EXPECT_TRUE(mask_of(form.get(), request)->has(0));
}

TEST(AnswerForm, SaysWhyNoTokenCanBeChosen) {
  const std::vector<float> good = {1, 2}, bad = {1, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(failure_of(good, {}), "");
  EXPECT_THAT(failure_of(bad, {}), testing::HasSubstr("not finite"));
  EXPECT_THAT(failure_of(good, TokenMask(2)), testing::HasSubstr("no token of the model"));
}

}  // namespace
}  // namespace triax::test
