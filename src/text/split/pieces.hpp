// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pre-tokenizers: steps that cut text into the pieces that the model sees.
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/text/split/splitter.hpp"

namespace triax {

/// A piece of text on its way through the steps.
struct TextPiece {
  std::string_view text;
  bool first;  // begins where the whole text does
};

/// Pieces, and memory of those that a step rewrote.
struct Pieces {
  std::vector<TextPiece> list;
  std::deque<std::string> rewritten;
  std::vector<TextPiece> next;  // scratch
  std::vector<Cut> cuts;        // scratch
};

/// Immutable: threads share it.
class PieceStep {
 public:
  virtual ~PieceStep() = default;
  virtual void apply(Pieces& pieces) const = 0;
  /// The splitter of a step that makes each match, and the text between two, a piece; else null.
  virtual const Splitter* isolating() const { return nullptr; }
};

/// Fate of a match: `removed`, a piece of its own, or a part of a neighbour. Contiguous: matches
/// that touch are one piece.
enum class SplitBehavior : std::uint8_t {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous
};

/// `invert`: the text between matches takes the part of the matches.
std::unique_ptr<const PieceStep> splitting(std::shared_ptr<const Splitter> pattern,
                                           SplitBehavior behavior, bool invert);
/// Puts a space before pieces that do not begin with one.
std::unique_ptr<const PieceStep> prefix_spaces();

enum class PrependScheme : std::uint8_t { always, first, never };

/// Metaspace: spaces become `mark`, which is put before pieces that do not begin with it; `split`:
/// each mark begins a piece.
std::unique_ptr<const PieceStep> metaspace(const std::string& mark, PrependScheme scheme,
                                           bool split);

}  // namespace triax
