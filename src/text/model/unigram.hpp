// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unigram language model (Kudo, 2018, arXiv:1804.10959): the segmentation of highest score.
#include <memory>
#include <optional>
#include <vector>

#include "src/text/model/model.hpp"

namespace triax {

struct UnigramParts {
  Vocabulary vocabulary;
  std::vector<double> scores;  // of each id
  std::vector<bool> usable;    // of each id: may come from text
  std::int32_t unk = -1;       // -1: an unknown character is an error
  bool byte_fallback = false;  // unknown characters become their bytes
  // Score of the least likely token; nothing: that of `scores`.
  std::optional<double> least;
  bool single = false;  // scores are added in float32, as sentencepiece does
};

/// An unknown character costs 10 more than the least likely token; neighbouring ones are one token.
/// The first segmentation found counts among those with the same score.
std::unique_ptr<const Model> make_unigram(UnigramParts parts);

}  // namespace triax
