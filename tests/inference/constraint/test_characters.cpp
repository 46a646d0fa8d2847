// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/characters.hpp"

#include <gtest/gtest.h>

#include "tests/inference/constraint/accepted.hpp"

namespace triax::test {
namespace {

// UTF-8 by its definition.
std::string encoded(char32_t c) {
  const auto byte = [](char32_t value) { return std::string(1, static_cast<char>(value)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) return byte(0xC0 | c >> 6) + byte(0x80 | (c & 63));
  if (c < 0x10000) return byte(0xE0 | c >> 12) + byte(0x80 | (c >> 6 & 63)) + byte(0x80 | (c & 63));
  return byte(0xF0 | c >> 18) + byte(0x80 | (c >> 12 & 63)) + byte(0x80 | (c >> 6 & 63)) +
         byte(0x80 | (c & 63));
}

Automaton automaton_of_set(const CharacterSet& set) {
  Grammar grammar;
  grammar.begin_at(set.node(grammar, Grammar::end));
  return Automaton(grammar);
}

// Each code point is taken as its bytes if it is in the set, wherever the ranges are cut.
TEST(CharacterSet, IsItsCharactersInUtf8) {
  CharacterSet set('b', 0x85);
  set.add(0x7F0, 0x1234);
  set.add(0xD000, 0xE123);
  set.add(0xFFF0, 0x12345);
  set.add(0x10FFFF, 0x10FFFF);
  Automaton automaton = automaton_of_set(set);
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x12400 ? 1 : 251) {
    const bool surrogate = c >= 0xD800 && c < 0xE000;
    ASSERT_EQ(accepts(automaton, encoded(c)), set.has(c) && !surrogate) << std::hex << unsigned(c);
  }
  EXPECT_TRUE(accepts(automaton, encoded(0x10FFFF)));
  for (const char* wrong : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xC3"})
    EXPECT_FALSE(accepts(automaton, wrong));
}

TEST(CharacterSet, HasItsAlgebra) {
  CharacterSet set('a', 'f');
  set.add('h', 'k');
  set.add('g', 'g');
  EXPECT_TRUE(set.has('g'));
  EXPECT_FALSE(set.complement().has('g'));
  EXPECT_TRUE(set.complement().has('l'));
  EXPECT_FALSE(set.without({'c', 'd'}).has('c'));
  EXPECT_TRUE(set.without({'c', 'd'}).has('e'));
  EXPECT_EQ(CharacterSet('x', 'x').only(), U'x');
  EXPECT_EQ(set.only(), std::nullopt);
  EXPECT_TRUE(CharacterSet::all().complement().empty());
  EXPECT_TRUE(CharacterSet(0xD900, 0xDA00).empty()) << "surrogates are no characters";
}

}  // namespace
}  // namespace triax::test
