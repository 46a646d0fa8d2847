// SPDX-License-Identifier: Apache-2.0
#pragma once
// Labels of next-token prediction: the one place that shifts them and counts those that the loss
// averages over. A mean loss is the sum over rows divided by the label tokens of the global batch,
// over all ranks and micro-batches. Positions of tokens in their documents, too.
#include <algorithm>
#include <cstdint>
#include <span>

namespace triax {

/// Sets the labels of the T inputs of a sample from the labels of its T + 1 tokens, Hugging Face's:
/// position p learns label p + 1. Negative ones stay; the loss ignores them. Returns the number of
/// the others, the label tokens.
inline std::int64_t shift_labels(std::span<const std::int32_t> of_tokens,
                                 std::span<std::int32_t> labels) {
  std::ranges::copy(of_tokens.subspan(1), labels.begin());
  return std::ranges::count_if(labels, [](std::int32_t label) { return label >= 0; });
}

/// Positions in documents of the T inputs of a sample, from the marks of first tokens of its T + 1.
inline void count_positions(std::span<const std::uint8_t> starts,
                            std::span<std::int32_t> positions) {
  for (std::size_t t = 0; t < positions.size(); ++t)
    positions[t] = t == 0 || starts[t] != 0 ? 0 : positions[t - 1] + 1;
}

}  // namespace triax
