// SPDX-License-Identifier: Apache-2.0
#pragma once
// Calls of functions in the text of an answer.
#include <cstdint>
#include <string>
#include <vector>

#include "src/serve/api/offered_tools.hpp"

namespace triax {

struct ToolCall {
  std::size_t index = 0;  // in the answer, from 0
  std::string id, name, arguments;
};

/// Takes calls out of a text that comes in pieces. Whatever does not read as calls of offered
/// functions stays content, to the letter.
class ToolCallText {
 public:
  /// `tools` has a form and outlives it. `key`: ids of calls follow from it.
  ToolCallText(const OfferedTools& tools, std::uint64_t key) : tools_(tools), key_(key) {}

  struct Piece {
    std::string content;
    std::vector<ToolCall> calls;
  };
  /// Content and calls that `text` completes. Text that may belong to a call, and blanks before it,
  /// come later.
  Piece next(const std::string& text);
  /// All that is left at the end of the answer.
  Piece rest();
  /// Whether there was a call.
  bool called() const { return count_ > 0; }

 private:
  enum class Where : std::uint8_t { content, call, content_alone };
  // False: more text is needed.
  bool advance(bool at_end, Piece& piece);
  bool find_begin(bool at_end, Piece& piece);
  bool find_end(bool at_end, Piece& piece);
  bool take_calls(const std::string& text, Piece& piece);
  void give(std::size_t bytes, Piece& piece);

  const OfferedTools& tools_;
  std::uint64_t key_;
  Where where_ = Where::content;
  std::string held_;
  std::string blanks_;     // before the call that is read
  std::size_t count_ = 0;  // calls
};

}  // namespace triax
