// SPDX-License-Identifier: Apache-2.0
#pragma once
// Guesses at the next tokens from the text itself (prompt lookup: Saxena 2023).
#include <cstdint>
#include <span>
#include <vector>

namespace triax {

/// The tokens, at most `most`, that followed the last occurrence of the text's last tokens earlier
/// in the text: of its last three, else of its last two. Empty where there is none.
std::vector<std::int32_t> ngram_draft(std::span<const std::int32_t> text, std::int64_t most);

}  // namespace triax
