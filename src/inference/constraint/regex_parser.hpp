// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of a regular expression to its parts.
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/inference/constraint/regex.hpp"

namespace triax {

struct Regex::Part {
  enum class Kind : std::uint8_t { set, sequence, either, repeat };
  Kind kind = Kind::sequence;
  CharacterSet set = {};
  std::vector<Part> parts = {};
  std::int64_t least = 0, most = 0;  // of repeat; most < 0: any number
};

/// The parts of an expression without its anchors: ^ at its begin sets `from_begin`, $ at its end
/// `to_end`. UsageError for syntax that is wrong or not built.
Regex::Part parse_regex(std::string_view text, bool& from_begin, bool& to_end);

}  // namespace triax
