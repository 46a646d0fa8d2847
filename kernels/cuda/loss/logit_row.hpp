// SPDX-License-Identifier: Apache-2.0
#pragma once
// A row of logits and the CUDA block that works on it: the sum of its exponentials and its
// gradient. The block keeps the row in shared memory in between, so that logits are read once and
// written once. A vocabulary that is split over ranks takes two passes instead.
#include <cmath>

#include "kernels/cuda/launch/fast_math.hpp"
#include "kernels/cuda/loss/logit_cap.hpp"
#include "kernels/cuda/norm/long_row.hpp"
#include "kernels/cuda/norm/row_sum.hpp"

namespace triax::cuda {

/// The largest of some logits, and the sum of exp(logit - largest).
struct Exponentials {
  float largest = -INFINITY;
  float sum = 0.0F;

  // A NaN logit is never the largest and makes the sum NaN.
  template <int n>
  TRIAX_DEVICE void add(const float* logits) {
    float to = largest;
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) to = std::fmax(to, logits[i]);
    sum *= rescaled(largest, to);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) sum += rescaled(logits[i], to);
    largest = to;
  }

  TRIAX_DEVICE void merge(const Exponentials& other) {
    const float to = std::fmax(largest, other.largest);
    sum = sum * rescaled(largest, to) + other.sum * rescaled(other.largest, to);
    largest = to;
  }

  // exp(from - to), or 0 if both are -infinity, that is if nothing has been added yet.
  TRIAX_DEVICE static float rescaled(float from, float to) {
    return fast_exp(from - (to == -INFINITY ? 0.0F : to));
  }
};

TRIAX_DEVICE inline Exponentials over_warp(const Block& block, Exponentials part) {
  TRIAX_UNROLL
  for (int mask = warp / 2; mask > 0; mask /= 2) {
    Exponentials other;
    other.largest = block.shuffle_xor(part.largest, mask);
    other.sum = block.shuffle_xor(part.sum, mask);
    part.merge(other);
  }
  return part;
}

/// Merges the values of all threads of a CUDA block in a fixed order. Only the first warp gets the
/// result. slots: 2 floats per warp.
TRIAX_DEVICE inline Exponentials over_block(const Block& block, float* slots, Exponentials part) {
  part = over_warp(block, part);
  if (block.thread_x() % warp == 0) {
    slots[2 * warp_of_row(block)] = part.largest;
    slots[2 * warp_of_row(block) + 1] = part.sum;
  }
  block.sync();
  if (warp_of_row(block) != 0) return part;
  Exponentials of_warp;
  if (block.thread_x() < warps_of_row(block)) {
    of_warp.largest = slots[2 * block.thread_x()];
    of_warp.sum = slots[2 * block.thread_x() + 1];
  }
  return over_warp(block, of_warp);
}

/// A row of logits. A CUDA block keeps its first `held` columns in shared memory (`copy`) between
/// reading the logits and writing their gradient. Cap: NoCap or SoftCap.
template <class T, bool allowed, class Cap>
struct LogitRow {
  T* row;
  int columns;  // without padding
  int stored;   // with padding
  Cap cap;
  T* copy = nullptr;
  int held = 0;

  TRIAX_DEVICE Exponentials exponentials(const Block& block) const {
    Exponentials part;
    each_piece_of_row<allowed, Cap::pieces_together>(
        block, row, 0, columns, [&](int column, const Piece& piece) {
          if (column < held) *reinterpret_cast<Piece*>(copy + column) = piece;
          float logits[wide<T>];
          real_ones(logits, column, piece);
          part.template add<wide<T>>(logits);
        });
    return part;
  }

  // row = (factor softmax - scale onehot(label)) times the slope of the cap; factor:
  // softmax_factor(). The label may lie outside this shard.
  TRIAX_DEVICE void make_gradient(const Block& block, float lse, std::int64_t label,
                                  float label_logit, float scale, float factor) const {
    const auto write = [&](int column, const Piece& piece) {
      float values[wide<T>];
      real_ones(values, column, piece);
      TRIAX_UNROLL
      for (int i = 0; i < wide<T>; ++i)
        values[i] = factor * fast_exp(values[i] - lse) * cap.slope(values[i]);
      store_piece<allowed>(row + column, values, stored - column);
    };
    each_piece_of_row<true, Cap::pieces_together>(block, copy, 0, held, write);
    each_piece_of_row<allowed, Cap::pieces_together>(block, row, held, stored, write);
    // expm1 gives the label's probability - 1 without cancellation near 1.
    if (has_label(label) && has_column<T>(block, label)) {
      float gradient = scale * std::expm1(label_logit - lse);
      if (factor != scale) gradient += (factor - scale) * fast_exp(label_logit - lse);
      narrow(row[label], gradient * cap.slope(label_logit));
    }
  }

  TRIAX_DEVICE void clear(const Block& block) const {
    const float zeros[wide<T>] = {};
    for (int column = block.thread_x() * wide<T>; column < stored;
         column += block.threads_x() * wide<T>)
      store_piece<allowed>(row + column, zeros, stored - column);
  }

  TRIAX_DEVICE bool has_label(std::int64_t label) const { return label >= 0 && label < columns; }

  TRIAX_DEVICE float logit_of(std::int64_t label) const {
    return has_label(label) ? cap(widen(row[label])) : 0.0F;
  }

 private:
  // The capped logits of a piece, with -infinity for padding, whose exponential is zero.
  TRIAX_DEVICE void real_ones(float* logits, int column, const Piece& piece) const {
    unpack<T>(logits, piece);
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) logits[i] = cap(logits[i]);
    if (column + wide<T> <= columns) return;
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i)
      if (column + i >= columns) logits[i] = -INFINITY;
  }
};

}  // namespace triax::cuda
