// SPDX-License-Identifier: Apache-2.0
#pragma once
// Regular expressions as grammars.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/inference/constraint/characters.hpp"

namespace triax {

/// A regular expression, read. Characters, ., [...], \d \w \s (of ASCII) and their opposites,
/// \n \t \r \f \v \0 \xHH \uHHHH, groups, |, * + ? {m,n} and their lazy forms, ^ at the beginning,
/// $ at the end.
class Regex {
 public:
  /// UsageError where the text is no regular expression, or has what is not built (lookarounds,
  /// back references, \b, \p, flags), named by its place.
  explicit Regex(std::string_view text);
  ~Regex();
  Regex(Regex&&) noexcept;

  /// Spelling of one character of a set in the grammar, followed by a node.
  using Spell =
      std::function<Grammar::Node(const CharacterSet& set, Grammar& grammar, Grammar::Node next)>;
  /// A text that matches as a whole, then `next`. Without ^ at its beginning or $ at its end any
  /// text may stand there, if `search`.
  Grammar::Node node(Grammar& grammar, Grammar::Node next, bool search, const Spell& spell) const;

  struct Part;

 private:
  std::unique_ptr<Part> whole_;
  bool from_begin_ = false, to_end_ = false;
};

}  // namespace triax
