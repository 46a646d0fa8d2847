// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts text into pieces by a pattern.
#include <cstddef>
#include <string_view>
#include <vector>

namespace triax {

/// End of a piece; it begins where the piece before it ends.
struct Cut {
  std::size_t end;  // bytes from the start of the text
  bool matched;     // false: text between two matches
};

/// A compiled pattern. Immutable: threads share it.
class Splitter {
 public:
  virtual ~Splitter() = default;
  /// Appends the cuts of `text` from byte `at`, where a piece begins, until there are `limit` or
  /// one more. Returns the end of the last one: the text's size when all is cut.
  virtual std::size_t split(std::string_view text, std::size_t at, std::size_t limit,
                            std::vector<Cut>& cuts) const = 0;
};

}  // namespace triax
