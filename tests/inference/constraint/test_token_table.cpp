// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/token_table.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/inference/constraint/accepted.hpp"

namespace triax::test {
namespace {

// The mask is what trying each token alone gives.
TEST(TokenTable, MasksAreThoseOfEachToken) {
  std::vector<std::string> bytes = {"",  "a",   "ab",   "abc",  "abd",
                                    "b", "{\"", "\xC5", "\xBE", "\xC5\xBE"};
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    std::string token;
    for (auto left = 1 + random() % 5; left > 0; --left)
      token += "abc1{}\"\xC5\xBE: "[random() % 11];
    bytes.push_back(token);
  }
  const TokenTable table(bytes);
  for (const auto& [kind, text] :
       {std::pair{Kind::regex, "(ab|abc)*[b1]ž?"}, std::pair{Kind::json_object, ""}}) {
    Automaton automaton = automaton_of(kind, text);
    std::vector<Automaton::State> states = {automaton.begin()};
    for (std::size_t at = 0; at < states.size() && at < 30; ++at) {
      const TokenMask mask = table.allowed(automaton, states[at]);
      for (std::size_t token = 0; token < bytes.size(); ++token) {
        Automaton::State state = bytes[token].empty() ? Automaton::dead : states[at];
        for (const char c : bytes[token])
          if (state != Automaton::dead)
            state = automaton.next(state, static_cast<unsigned char>(c));
        EXPECT_EQ(mask.has(static_cast<std::int32_t>(token)), state != Automaton::dead)
            << bytes[token];
        if (state != Automaton::dead && std::ranges::find(states, state) == states.end())
          states.push_back(state);
      }
      EXPECT_FALSE(mask.has(static_cast<std::int32_t>(bytes.size()) + 100));
    }
    EXPECT_GT(states.size(), 3U);
  }
}

TEST(TokenMask, IsASet) {
  TokenMask mask(3);
  EXPECT_FALSE(mask.any());
  mask.set(200, true);  // the model may have tokens that the tokenizer has not
  EXPECT_TRUE(mask.has(200));
  EXPECT_FALSE(mask.has(199));
  mask.set(200, false);
  EXPECT_FALSE(mask.any());
}

}  // namespace
}  // namespace triax::test
