// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of logits, too long for registers: one CUDA block per row.
#include "kernels/cuda/launch/views.hpp"

namespace triax::cuda {

/// Calls visit(column, piece) for each piece of columns [begin, end) that belongs to this thread.
/// Pieces are dealt out to the threads in turn from the row's beginning, whatever `begin` is. The
/// last piece may have fewer than wide<T> elements. `together` pieces are requested before the
/// first is visited: some 32 KiB in flight keep a multiprocessor's memory busy.
template <bool allowed, int together = 4, class T, class Visit>
TRIAX_DEVICE inline void each_piece_of_row(const Block& block, const T* row, int begin, int end,
                                           const Visit& visit) {
  constexpr int ahead = allowed ? together : 1;  // single elements take more registers
  const int step = block.threads_x() * wide<T>;
  int column = block.thread_x() * wide<T>;
  if (column < begin) column += (begin - column + step - 1) / step * step;
  for (; column + (ahead - 1) * step < end; column += ahead * step) {
    Piece pieces[ahead];
    TRIAX_UNROLL
    for (int k = 0; k < ahead; ++k) {
      const int at = column + k * step;
      pieces[k] = piece_at<allowed>(row + at, end - at);
    }
    TRIAX_UNROLL
    for (int k = 0; k < ahead; ++k) visit(column + k * step, pieces[k]);
  }
  for (; column < end; column += step) visit(column, piece_at<allowed>(row + column, end - column));
}

/// Whether each_piece_of_row gives this column to this thread.
template <class T>
TRIAX_DEVICE inline bool has_column(const Block& block, std::int64_t column) {
  return column / wide<T> % block.threads_x() == block.thread_x();
}

}  // namespace triax::cuda
