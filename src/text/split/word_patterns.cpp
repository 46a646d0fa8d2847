// SPDX-License-Identifier: Apache-2.0
#include "src/text/split/word_patterns.hpp"

#include <fmt/format.h>

#include <array>

#include "kernels/base/check.hpp"
#include "src/text/split/families.hpp"

namespace triax {

std::span<const WordPattern> word_patterns() {
  static constexpr std::array rows = {WordPattern{"gpt2", gpt2_pattern, true},
                                      WordPattern{"llama3", llama3_pattern, false},
                                      WordPattern{"qwen2", qwen2_pattern, false}};
  return rows;
}

const WordPattern& word_pattern(const std::string& name) {
  std::string names;
  for (const WordPattern& row : word_patterns()) {
    if (row.name == name) return row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw UsageError(fmt::format("there is no pattern {}", name), {},
                   "Set --pattern to one of " + names);
}

}  // namespace triax
