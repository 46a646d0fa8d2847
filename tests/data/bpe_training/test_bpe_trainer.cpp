// SPDX-License-Identifier: Apache-2.0
// Merges: Hugging Face's, whatever the order of the words and the number of threads.
#include "src/data/bpe_training/bpe_trainer.hpp"

#include <algorithm>
#include <map>

#include "src/data/bpe_training/tokenizer_files.hpp"
#include "src/text/split/families.hpp"
#include "tests/data/bpe_training/trained_cases.hpp"

namespace triax::test {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

Counts words_of(const TrainedCase& trained) {
  Counts counts;
  const auto splitter = family_scanner(word_pattern(trained.pattern).pattern);
  for (const std::string& text : trained.documents) {
    std::vector<Cut> cuts;
    std::size_t begin = 0;
    splitter->split(text, 0, ~std::size_t{0}, cuts);
    for (const Cut& cut : cuts) ++counts[text.substr(begin, cut.end - begin)], begin = cut.end;
  }
  return counts;
}

TrainedBpe train(const Counts& counts, const BpeOptions& options, int threads, bool backwards) {
  TokenWords words(byte_ids(first_tokens(options.special)));
  std::vector<std::pair<std::string, std::uint64_t>> list(counts.begin(), counts.end());
  if (backwards) std::reverse(list.begin(), list.end());
  for (const auto& [word, count] : list) words.add(word, count);
  return train_bpe(words, options, threads, [](std::int64_t) {});
}

TEST(BpeTrainer, WritesTheFilesOfHuggingFace) {
  for (const std::string& name : trained_cases) {
    const TrainedCase trained = trained_case(name);
    const Counts counts = words_of(trained);
    for (const bool backwards : {false, true}) {
      const TrainedBpe bpe = train(counts, trained.bpe, backwards ? 3 : 1, backwards);
      EXPECT_EQ(tokenizer_json(bpe, word_pattern(trained.pattern), trained.bpe.special),
                trained.tokenizer_json)
          << name;
    }
  }
}

// Enough words for each thread to get a share of a merge.
TEST(BpeTrainer, ThreadsGiveTheSameMerges) {
  Counts counts;
  std::uint64_t state = 1;
  for (int w = 0; w < 40000; ++w) {
    std::string word;
    for (int i = 0; i < 3 + w % 9; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      word += static_cast<char>('a' + (state >> 60));
    }
    counts[word] += 1 + (state >> 33) % 5;
  }
  const BpeOptions options{.vocabulary = 1500};
  const TrainedBpe one = train(counts, options, 1, false), four = train(counts, options, 4, true);
  EXPECT_EQ(one.tokens.size(), 1500U);
  EXPECT_EQ(one.tokens, four.tokens);
  EXPECT_EQ(one.merges, four.merges);
}

TEST(BpeTrainer, CountsBeyond32Bits) {
  const Counts counts = {{"ab", std::uint64_t{1} << 33}, {"cd", (std::uint64_t{1} << 33) + 1}};
  const TrainedBpe bpe = train(counts, {.vocabulary = 258}, 1, false);
  EXPECT_EQ(bpe.tokens.back(), "cd");
}

TEST(BpeTrainer, EndsWhereNoPairIsFrequentEnough) {
  const TrainedBpe bpe =
      train({{"ab", 5}, {"cd", 4}}, {.vocabulary = 300, .min_frequency = 5}, 1, false);
  EXPECT_EQ(bpe.tokens.size(), 258U);
  EXPECT_EQ(bpe.merges.size(), 1U);
}

}  // namespace
}  // namespace triax::test
