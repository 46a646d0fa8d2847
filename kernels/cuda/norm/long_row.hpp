#pragma once
// Rows of logits: a block a row, too long for its registers.
#include "kernels/cuda/launch/views.hpp"

namespace triax::cuda {

/// visit(column, piece) for each piece of columns [begin, end) of a row that this thread has: those
/// at its place among every threads_x pieces from the row's beginning, wherever `begin` is. The
/// last may have less than wide<T> of them. A few are asked for before the first is visited: a
/// multiprocessor keeps memory busy with some 32 KiB under way.
template <bool allowed, class T, class Visit>
TRIAX_DEVICE inline void each_piece_of_row(const Block& block, const T* row, int begin, int end,
                                           const Visit& visit) {
  constexpr int ahead = allowed ? 4 : 1;  // single elements take more registers
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

/// Whether the thread is the one that each_piece_of_row gives this column to.
template <class T>
TRIAX_DEVICE inline bool has_column(const Block& block, std::int64_t column) {
  return column / wide<T> % block.threads_x() == block.thread_x();
}

}  // namespace triax::cuda
