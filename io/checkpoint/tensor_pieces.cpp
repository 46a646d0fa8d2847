// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tensor_pieces.hpp"

#include <utility>

namespace triax {

TensorPieces::TensorPieces(std::span<const CheckpointTensor> tensors, std::int64_t elements,
                           const Ranks& ranks, std::string group)
    : tensors_(tensors), elements_(elements), group_(std::move(group)) {
  const int rank = ranks.rank;
  const int size = ranks.size;
  for (const CheckpointTensor& tensor : tensors_)
    if (shared_out(tensor)) bytes_ += tensor.bytes();
  // The owner of a piece is the rank whose share contains its first byte.
  const double share = static_cast<double>(bytes_) / size;
  std::int64_t before = 0;
  each([&](std::int64_t index, const TensorPiece& piece) {
    ++count_;
    if (!shared_out(tensors_[piece.tensor])) return;
    const int owner = std::min(size - 1, static_cast<int>(static_cast<double>(before) / share));
    if (owner < rank) first_ = index + 1;
    if (owner <= rank) last_ = index + 1;
    if (owner == rank) own_bytes_ += bytes_of(piece);
    before += bytes_of(piece);
  });
}

std::int64_t TensorPieces::bytes_of(const TensorPiece& piece) const {
  return (piece.end - piece.begin) *
         static_cast<std::int64_t>(size_of(tensors_[piece.tensor].dtype));
}

std::span<const double> PieceReader::read(const CheckpointTensor& tensor,
                                          const TensorPiece& piece) {
  const std::int64_t count = piece.end - piece.begin;
  values_.resize(static_cast<std::size_t>(count));
  reader_.read(tensor.name, hdf5::flat_range_boxes(tensor.shape, piece.begin, piece.end),
               Tensor(values_.data(), {count}));
  return values_;
}

}  // namespace triax
