// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts the tensors of a checkpoint into pieces and distributes them over ranks. Internal to io/.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"

namespace triax {

/// Elements [begin, end) of one tensor.
struct TensorPiece {
  std::size_t tensor;   // index in the list of tensors
  std::int64_t number;  // index among the tensor's pieces
  std::int64_t begin, end;
};

/// All pieces of at most `elements` elements (>= 1), in the order of the tensors. Each rank owns
/// consecutive pieces, with about the same bytes on every rank. Pieces of tensors whose names do
/// not begin with `group` have no owner.
class TensorPieces {
 public:
  TensorPieces(std::span<const CheckpointTensor> tensors, std::int64_t elements, const Ranks& ranks,
               std::string group = {});
  std::int64_t count() const { return count_; }
  /// Bytes owned by all ranks together.
  std::int64_t bytes() const { return bytes_; }
  /// Bytes owned by this rank.
  std::int64_t own_bytes() const { return own_bytes_; }

  /// Calls visit(index, piece) for every piece, owned or not.
  template <class Visit>
  void each(Visit&& visit) const {
    std::int64_t index = 0;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const std::int64_t size = tensors_[t].shape.elements();
      for (std::int64_t number = 0; number * elements_ < size; ++number)
        visit(index++,
              TensorPiece{t, number, number * elements_, std::min(size, (number + 1) * elements_)});
    }
  }
  /// As each(), for the pieces of this rank only.
  template <class Visit>
  void each_own(Visit&& visit) const {
    each([&](std::int64_t index, const TensorPiece& piece) {
      if (first_ <= index && index < last_ && shared_out(tensors_[piece.tensor]))
        visit(index, piece);
    });
  }
  std::int64_t bytes_of(const TensorPiece& piece) const;

 private:
  bool shared_out(const CheckpointTensor& tensor) const { return tensor.name.starts_with(group_); }

  std::span<const CheckpointTensor> tensors_;
  std::int64_t elements_;
  std::string group_;
  std::int64_t count_ = 0, bytes_ = 0, own_bytes_ = 0;
  std::int64_t first_ = 0, last_ = 0;  // this rank's pieces are [first_, last_)
};

/// Elements of a piece for PieceReader: 8 MiB as double.
constexpr std::int64_t piece_elements = std::int64_t{1} << 20;

/// Reads pieces as double, one at a time.
class PieceReader {
 public:
  /// `reader` outlives it.
  explicit PieceReader(const CheckpointReader& reader) : reader_(reader) {}
  /// The elements of a piece, valid until the next call.
  std::span<const double> read(const CheckpointTensor& tensor, const TensorPiece& piece);

 private:
  const CheckpointReader& reader_;
  std::vector<double> values_;
};

}  // namespace triax
