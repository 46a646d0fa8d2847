// SPDX-License-Identifier: Apache-2.0
#include "src/text/split/pieces.hpp"

#include "src/text/split/make_splitter.hpp"

namespace triax {
namespace {

class Splitting final : public PieceStep {
 public:
  Splitting(std::shared_ptr<const Splitter> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  const Splitter* isolating() const override {
    return behavior_ == SplitBehavior::isolated ? pattern_.get() : nullptr;
  }

  void apply(Pieces& pieces) const override {
    pieces.next.clear();
    for (const TextPiece& piece : pieces.list) {
      pieces.cuts.clear();
      for (std::size_t at = 0; at < piece.text.size();)
        at = pattern_->split(piece.text, at, ~std::size_t{0}, pieces.cuts);
      gather(piece, pieces.cuts, pieces.next);
    }
    std::swap(pieces.list, pieces.next);
  }

 private:
  // Appends the pieces that the cuts of `whole` make.
  void gather(const TextPiece& whole, const std::vector<Cut>& cuts,
              std::vector<TextPiece>& out) const {
    std::size_t begin = 0, start = 0;  // of this cut, and of the piece that grows
    const auto close = [&](std::size_t end) {
      if (end > start)
        out.push_back({whole.text.substr(start, end - start), whole.first && start == 0});
      start = end;
    };
    bool previous = false;  // the cut before was a match
    for (const Cut& cut : cuts) {
      const bool match = cut.matched != invert_;
      switch (behavior_) {
        case SplitBehavior::removed:
          if (match) start = cut.end;
          close(cut.end);
          break;
        case SplitBehavior::isolated:
          close(cut.end);
          break;
        case SplitBehavior::merged_with_previous:
          if (!match || previous) close(begin);
          if (match) close(cut.end);
          break;
        case SplitBehavior::merged_with_next:
          if (match || !previous) close(begin);
          break;
        case SplitBehavior::contiguous:
          if (match != previous) close(begin);
          break;
      }
      previous = match;
      begin = cut.end;
    }
    close(begin);
  }

  std::shared_ptr<const Splitter> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class PrefixSpaces final : public PieceStep {
 public:
  void apply(Pieces& pieces) const override {
    for (TextPiece& piece : pieces.list)
      if (!piece.text.starts_with(' '))
        piece.text = pieces.rewritten.emplace_back(" ").append(piece.text);
  }
};

class Metaspace final : public PieceStep {
 public:
  Metaspace(const std::string& mark, PrependScheme scheme, bool split)
      : mark_(mark), scheme_(scheme) {
    if (split) split_ = splitting(literal_splitter(mark), SplitBehavior::merged_with_next, false);
  }

  void apply(Pieces& pieces) const override {
    for (TextPiece& piece : pieces.list) {
      std::string& text = pieces.rewritten.emplace_back();
      const bool may_begin = piece.text.starts_with(' ') || piece.text.starts_with(mark_);
      const bool wanted =
          scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && piece.first);
      if (wanted && !may_begin) text = mark_;
      for (const char c : piece.text) c == ' ' ? text.append(mark_) : text.append(1, c);
      piece.text = text;
    }
    if (split_) split_->apply(pieces);
  }

 private:
  std::string mark_;
  PrependScheme scheme_;
  std::unique_ptr<const PieceStep> split_;
};

}  // namespace

std::unique_ptr<const PieceStep> splitting(std::shared_ptr<const Splitter> pattern,
                                           SplitBehavior behavior, bool invert) {
  return std::make_unique<Splitting>(std::move(pattern), behavior, invert);
}

std::unique_ptr<const PieceStep> prefix_spaces() {
  return std::make_unique<PrefixSpaces>();
}

std::unique_ptr<const PieceStep> metaspace(const std::string& mark, PrependScheme scheme,
                                           bool split) {
  return std::make_unique<Metaspace>(mark, scheme, split);
}

}  // namespace triax
