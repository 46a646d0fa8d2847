// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary position embedding (Su et al. 2021) in Hugging Face's half-split order. Of the D elements
// of a head the first R are rotated (partial rotary: GPT-NeoX, Black et al. 2022); the others stay.
// Element d < R/2 pairs with element d + R/2, and the angle is position * frequency of pair d.
#include <span>

#include "kernels/base/device/device.hpp"

namespace triax {

/// Cosine and sine of every angle times `factor`. table: (2, T, R/2) float32, cosines first,
/// computed in double. frequencies: (R/2) radians per position. The table is made on the host and
/// copied to a device, so that it has the same bits there; returns when it is complete.
void rope_table(const Stream& stream, const Tensor& table, std::span<const double> frequencies,
                double factor = 1.0);

/// Rotates the first R = 2 * table.size(2) elements of each head in place by its position t, and
/// multiplies them by the table's factor. x: (B, T, H, D), strided over (B, T), heads contiguous.
/// `table` may be a slice of a longer table, for the positions that x has. positions: (B, T) int32
/// below T, the position of each token; empty: t.
void rope_forward(const Stream& stream, const Tensor& x, const Tensor& table,
                  const Tensor& positions = {});

/// An internal error unless `table` has angles for each position of x and for pairs that fit into
/// its heads.
inline void check_rope_table(const Tensor& table, const Tensor& x) {
  check(table.rank() == 3 && table.size(0) == 2 && table.size(1) >= x.size(1) &&
            table.size(2) <= x.size(3) / 2 && table.stride(1) == table.size(2) &&
            table.stride(2) == 1,
        "rope table {} for {}", table.shape(), x.shape());
}

/// An internal error unless `positions` is empty or has one for each token of x.
inline void check_rope_positions(const Tensor& positions, const Tensor& x) {
  if (positions.empty()) return;
  check(positions.shape() == Shape({x.size(0), x.size(1)}) && positions.dtype() == DType::i32 &&
            positions.stride(1) == 1,
        "rope positions {} for {}", positions.shape(), x.shape());
}

/// The transposed map, in place: the gradient of rope_forward. With a factor of 1 it is the inverse
/// rotation.
void rope_backward(const Stream& stream, const Tensor& dx, const Tensor& table,
                   const Tensor& positions = {});

}  // namespace triax
