#pragma once
// Rows of logits: a block a row, as long as it likes and aligned as it happens to be.
#include "kernels/cuda/views.hpp"

namespace triax::cuda {

/// Calls visit(Width<n>{}, column) over all columns of `row`: n is wide<T> where the memory is
/// aligned for it and 1 at the ragged ends.
template <class T, class Visit>
TRIAX_DEVICE inline void each_piece_of_long_row(const Block& block, const T* row,
                                                std::int64_t columns, const Visit& visit) {
  constexpr int width = wide<T>;
  const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / sizeof(T) % width);
  const std::int64_t before = past == 0 ? 0 : width - past;
  const std::int64_t head = before < columns ? before : columns;
  const std::int64_t pieces = (columns - head) / width;
  for (std::int64_t piece = block.thread_x(); piece < pieces; piece += block.threads_x())
    visit(Width<width>{}, head + piece * width);
  const std::int64_t edge = block.thread_x();  // at most 2 (width - 1) of them
  if (edge < columns - pieces * width)
    visit(Width<1>{}, edge < head ? edge : edge + pieces * width);
}

}  // namespace triax::cuda
