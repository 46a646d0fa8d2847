// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns that cut a text into words before BPE.
#include <span>
#include <string>
#include <string_view>

namespace triax {

struct WordPattern {
  std::string_view name;     // of --pattern
  std::string_view pattern;  // as published files spell it
  bool of_byte_level;        // ByteLevel of a tokenizer.json has it without naming it
};

std::span<const WordPattern> word_patterns();
/// UsageError with all names where there is none of this one.
const WordPattern& word_pattern(const std::string& name);

}  // namespace triax
