// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/automaton.hpp"

#include <gtest/gtest.h>

#include "tests/inference/constraint/accepted.hpp"

namespace triax::test {
namespace {

// Brackets within brackets, which no finite machine counts.
TEST(Automaton, CallsOfRulesNest) {
  Grammar grammar;
  const Grammar::Rule nested = grammar.new_rule();
  const Grammar::Node inner[] = {grammar.text("(", grammar.call(nested, grammar.text(")", 0))),
                                 Grammar::end};
  grammar.define(nested, grammar.any_of(inner));
  grammar.begin_at(grammar.call(nested, Grammar::end));
  Automaton automaton(grammar);
  EXPECT_TRUE(accepts(automaton, ""));
  EXPECT_TRUE(accepts(automaton, "((()))"));
  EXPECT_FALSE(accepts(automaton, "((())"));
  EXPECT_FALSE(accepts(automaton, "(()))"));
  EXPECT_TRUE(accepts(automaton, std::string(500, '(') + std::string(500, ')')));
  EXPECT_FALSE(accepts(automaton, std::string(2000, '(') + std::string(2000, ')')))
      << "calls within calls are bounded";
}

// A rule that begins with itself has no end of calls; the others are found.
TEST(Automaton, RulesMayBeginWithThemselves) {
  Grammar grammar;
  const Grammar::Rule rule = grammar.new_rule();
  const Grammar::Node either[] = {grammar.call(rule, grammar.text("b", 0)), grammar.text("a", 0)};
  grammar.define(rule, grammar.any_of(either));
  grammar.begin_at(grammar.call(rule, Grammar::end));
  Automaton automaton(grammar);
  EXPECT_TRUE(accepts(automaton, "a"));
  EXPECT_TRUE(accepts(automaton, "abb"));
  EXPECT_FALSE(accepts(automaton, "ba"));
}

TEST(Automaton, EqualStatesAreOne) {
  Automaton automaton = automaton_of(Kind::regex, "(ab|cb)*");
  const auto after = [&](const std::string& text) {
    Automaton::State state = automaton.begin();
    for (const char c : text) state = automaton.next(state, static_cast<unsigned char>(c));
    return state;
  };
  EXPECT_EQ(after("abab"), after("cb"));
  EXPECT_TRUE(automaton.goes_on(after("ab")));
  const std::size_t states = automaton.states();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(accepts(automaton, "abcbabab"));
  EXPECT_EQ(automaton.states(), states);
}

}  // namespace
}  // namespace triax::test
