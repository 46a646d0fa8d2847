// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts of long texts, so that memory is bounded and several threads encode one text.
#include <cstddef>
#include <string_view>

namespace triax {

/// Distance of the nominal cuts of a text. The cuts depend on the text alone.
inline constexpr std::size_t piece_bytes = std::size_t{4} << 20;
/// Range behind a nominal cut in which the cut is made.
inline constexpr std::size_t cut_range = std::size_t{1} << 18;

/// Position in `text` of the cut at or behind `from` >= 2: in front of a letter that begins a line
/// which follows a line that ends with no blank. The usual pre-tokenizers (GPT-2, cl100k, o200k,
/// Llama 3) split there anyway, so that the pieces' ids joined are the text's. Where cut_range has
/// no such line: at the first line; where it has none: in front of a character.
std::size_t piece_cut(std::string_view text, std::size_t from);

}  // namespace triax
