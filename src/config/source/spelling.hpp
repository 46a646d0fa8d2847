// SPDX-License-Identifier: Apache-2.0
#pragma once
// The known word nearest to an unknown one.
#include <cstddef>
#include <string>
#include <vector>

namespace triax {

/// Damerau-Levenshtein distance: insert, delete, replace or swap of neighbours (Damerau 1964).
std::size_t edits(const std::string& a, const std::string& b);
/// The first of `words` at the smallest distance from `word`; "" if there are none.
std::string nearest_word(const std::string& word, const std::vector<std::string>& words);

}  // namespace triax
