// SPDX-License-Identifier: Apache-2.0
// Counts of words: short, long, of one hash's neighbourhood, and through the partitions.
#include "src/data/bpe_training/word_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>

#include "src/data/bpe_training/shared_words.hpp"

namespace triax::test {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

Counts counts_of(const WordTable& table) {
  Counts counts;
  table.each([&](const WordKey& key, std::string_view word, std::uint64_t count) {
    EXPECT_TRUE(counts.emplace(word, count).second) << word;
    EXPECT_EQ(key.hash, word_key(word, false).hash) << word;
  });
  return counts;
}

// Word `i` of a list with all lengths around the limit of short ones.
std::string word_of(int i) {
  return std::to_string(i) + std::string(static_cast<std::size_t>(i % 40), 'x');
}

TEST(WordTable, CountsWordsOfAllLengths) {
  WordTable table;
  Counts expected;
  for (int round = 1; round <= 2; ++round)
    for (int i = 0; i < 5000; ++i) {
      const std::string word = word_of(i);
      table.add(word_key(word, false), word, static_cast<std::uint64_t>(round));
      expected[word] += static_cast<std::uint64_t>(round);
    }
  EXPECT_EQ(counts_of(table), expected);
  EXPECT_EQ(table.size(), expected.size());
  std::size_t bytes = 0;
  for (const auto& [word, count] : expected) bytes += word.size();
  EXPECT_EQ(table.text_bytes(), bytes);
  table.clear();
  EXPECT_EQ(table.size(), 0U);
  EXPECT_TRUE(counts_of(table).empty());
}

TEST(WordTable, ZerosAreBytesOfWords) {
  WordTable table;
  const std::string text("a\0\0b\0", 5);
  for (std::size_t bytes = 1; bytes <= text.size(); ++bytes)
    table.add(word_key({text.data(), bytes}, false), {text.data(), bytes}, bytes);
  table.add(word_key({"\0\0\0", 3}, false), {"\0\0\0", 3}, 9);
  EXPECT_EQ(table.size(), 6U);
  EXPECT_EQ(counts_of(table).at(std::string("a\0\0", 3)), 3U);
}

TEST(WordTable, KeysDoNotDependOnWhatIsBehindTheWord) {
  const std::string text = "word and more than sixteen bytes";
  EXPECT_EQ(word_key({text.data(), 4}, true).word, word_key("word", false).word);
}

TEST(SharedWords, ThreadsAddUp) {
  SharedWords shared(64);
  constexpr int threads = 3, words = 70000;  // more than a thread keeps
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      LocalWords local(shared, static_cast<std::size_t>(t));
      for (int i = 0; i < words; ++i) {
        local.add(word_of(i), false);
        local.give_if_full();
      }
      local.give();
    });
  for (std::thread& thread : team) thread.join();
  std::size_t found = 0;
  for (std::size_t p = 0; p < shared.partitions(); ++p)
    shared.words(p).each([&](const WordKey& key, std::string_view, std::uint64_t count) {
      EXPECT_EQ(shared.partition_of(key), p);
      EXPECT_EQ(count, 3U);
      ++found;
    });
  EXPECT_EQ(found, static_cast<std::size_t>(words));
}

}  // namespace
}  // namespace triax::test
