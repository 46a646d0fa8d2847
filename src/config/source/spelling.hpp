#pragma once
// What was meant by a word that is not known.
#include <cstddef>
#include <string>
#include <vector>

namespace triax {

/// Edits that turn one word into the other: insert, delete, replace, swap neighbours (Damerau
/// 1964).
std::size_t edits(const std::string& a, const std::string& b);
/// The first of `words` that is fewest edits away from `word`; "" where there are none.
std::string nearest_word(const std::string& word, const std::vector<std::string>& words);

}  // namespace triax
