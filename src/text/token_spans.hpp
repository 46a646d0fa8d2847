// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of a text that each of its tokens stands for.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/text/tokenizer.hpp"

namespace triax {

/// Bytes [begin, end) of a text.
struct TokenSpan {
  std::size_t begin = 0, end = 0;
};

/// Finds the tokens of `ids` in the text that they encode, one after another. Blanks that an added
/// token takes at its sides belong to it; a space that the tokenizer puts in front of a text is no
/// byte of it. Nothing where the text was changed before it was cut (lower case, another
/// normalization form) so that the tokens do not spell it.
std::optional<std::vector<TokenSpan>> token_spans(const Tokenizer& tokenizer, std::string_view text,
                                                  std::span<const std::int32_t> ids);

}  // namespace triax
