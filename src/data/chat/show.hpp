// SPDX-License-Identifier: Apache-2.0
#pragma once
// A training sample for a reader: its tokens, and which of them train.
#include <cstdint>
#include <span>
#include <string>

#include "src/text/tokenizer.hpp"

namespace triax {

struct ShownSample {
  std::int64_t number = 0, samples = 0;  // of the run's order; samples of an epoch
  std::span<const std::int32_t> ids;     // the inputs; the token behind them if it trains
  std::span<const std::int32_t> labels;  // of these tokens, not shifted; negative: does not train
  std::span<const std::uint8_t> starts = {};  // 1: first of a document; empty: one document
};

enum class ShowStyle : std::uint8_t { plain, color, json };

/// A line per token: number, id, with documents the document's number and the position in it, a *
/// where the token trains (with color: in green), text in quotes. Equal tokens at the end that do
/// not train are one line. `tokenizer` may be null.
std::string sample_text(const ShownSample& sample, const Tokenizer* tokenizer, ShowStyle style);
/// The same of a pair: its chosen and its rejected answer, halves of the sample.
std::string pair_text(const ShownSample& pair, const Tokenizer* tokenizer, ShowStyle style);

}  // namespace triax
