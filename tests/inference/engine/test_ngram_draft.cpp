// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/ngram_draft.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

using Tokens = std::vector<std::int32_t>;

TEST(NgramDraft, TakesWhatFollowedTheSameTokens) {
  EXPECT_EQ(ngram_draft(Tokens{1, 2, 3, 4, 5, 6, 1, 2, 3}, 2), (Tokens{4, 5}));
  EXPECT_EQ(ngram_draft(Tokens{1, 2, 3, 4, 5, 6, 1, 2, 3}, 9), (Tokens{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(ngram_draft(Tokens{9, 2, 3, 4, 5, 6, 1, 2, 3}, 1), (Tokens{4})) << "two tokens";
  EXPECT_EQ(ngram_draft(Tokens{2, 3, 7, 2, 3, 8, 2, 3}, 1), (Tokens{8})) << "the last occurrence";
  EXPECT_EQ(ngram_draft(Tokens{5, 5, 5, 5}, 3), (Tokens{5}));
}

TEST(NgramDraft, GuessesNothingWithoutAnOccurrence) {
  EXPECT_TRUE(ngram_draft(Tokens{1, 2, 3, 4}, 3).empty());
  EXPECT_TRUE(ngram_draft(Tokens{1}, 3).empty());
  EXPECT_TRUE(ngram_draft(Tokens{}, 3).empty());
  EXPECT_TRUE(ngram_draft(Tokens{1, 2, 3, 1, 2, 3}, 0).empty());
}

}  // namespace
}  // namespace triax
