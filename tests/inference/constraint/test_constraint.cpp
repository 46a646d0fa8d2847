// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/constraint.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using Kind = ConstraintSpec::Kind;

// Single bytes, and some longer tokens. Token 0 ends an answer.
std::vector<std::string> tokens() {
  std::vector<std::string> all;
  for (int byte = 0; byte < 256; ++byte) all.emplace_back(1, static_cast<char>(byte));
  for (const char* more : {"{\"", "\": ", "\",", "}}", "true", "name", "no", "yes", "yes and no"})
    all.emplace_back(more);
  return all;
}

// An answer of random allowed tokens; ends[0] ends it.
std::string answer(TokenConstraints& constraints, const ConstraintSpec& spec, unsigned seed) {
  const auto form = constraints.make(spec);
  const std::vector<std::int32_t> ends = {0};
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < 400; ++i) {
    const TokenMask mask = form->allowed_with(ends);
    std::vector<std::int32_t> may;
    for (std::int32_t token = 0; token < std::ssize(tokens()); ++token)
      if (mask.has(token)) may.push_back(token);
    EXPECT_EQ(mask.has(0), form->may_end());
    if (may.empty()) break;
    // Closing tokens and the end are likely, so that answers end.
    const std::int32_t token = mask.has('}') && random() % 2 == 0   ? '}'
                               : mask.has('"') && random() % 2 == 0 ? '"'
                                                                    : may[random() % may.size()];
    if (token == 0) return text;
    text += tokens()[static_cast<std::size_t>(token)];
    form->take(token);
    if (form->must_end()) return text;
  }
  return "not ended: " + text;
}

TEST(Constraint, AnswersHaveTheForm) {
  TokenConstraints constraints(tokens);
  int ended = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    EXPECT_THAT(
        answer(constraints, {.kind = Kind::choice, .text = R"(["yes","no","yes and no"])"}, seed),
        testing::AnyOf("yes", "no", "yes and no"));
    EXPECT_THAT(answer(constraints, {.kind = Kind::regex, .text = "[0-9]{3}-[a-c]"}, seed),
                testing::MatchesRegex("[0-9]{3}-[a-c]"));
    const std::string text = answer(constraints, {.kind = Kind::json_object}, seed);
    if (text.starts_with("not ended")) continue;
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
    ++ended;
  }
  EXPECT_GT(ended, 20);
}

TEST(Constraint, TextsStandAroundTheForm) {
  TokenConstraints constraints(tokens);
  const ConstraintSpec spec{.kind = Kind::json_schema,
                            .text = R"({"const": {"a": 1}})",
                            .before = "<call>",
                            .after = "</call>"};
  EXPECT_EQ(answer(constraints, spec, 1), R"(<call>{"a":1}</call>)");
}

TEST(Constraint, AnEngineWithoutTokensRefusesForms) {
  TokenConstraints none({});
  EXPECT_EQ(none.make({}), nullptr);
  EXPECT_TRUE(is_usage_error([&] { none.make({.kind = Kind::json_object}); }));
}

// An automaton that has grown too large begins anew, in the midst of answers.
TEST(Constraint, GoesOnWhereTheAutomatonBeginsAnew) {
  TokenConstraints constraints(tokens);
  const ConstraintSpec spec{.kind = Kind::regex, .text = "(a|b)*a(a|b){16}c"};
  const auto form = constraints.make(spec);
  std::mt19937 random(3);
  for (int i = 0; i < 60'000; ++i) {
    EXPECT_FALSE(form->may_end());
    form->take(random() % 2 == 0 ? 'a' : 'b');
  }
  form->take('a');
  for (int i = 0; i < 16; ++i) form->take('b');
  ASSERT_TRUE(form->allowed().has('c'));
  form->take('c');
  EXPECT_TRUE(form->must_end());
}

}  // namespace
}  // namespace triax::test
