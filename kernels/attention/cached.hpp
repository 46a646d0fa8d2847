// SPDX-License-Identifier: Apache-2.0
#pragma once
// Partition of cached attention's positions, shared by host and device.
#include "kernels/attention/sizes.hpp"
#include "kernels/base/device/arena.hpp"

namespace triax::attention {

/// Cuts `positions`, those that a query sees, into splits of equal size, whole multiples of `block`
/// except the last. It depends on `positions` alone.
struct CachedCut {
  static constexpr std::int64_t block = 32;  // positions whose scores are computed together
  static constexpr std::int64_t most_parts = 64;

  explicit CachedCut(std::int64_t positions) {
    if (positions == 0) return;
    const std::int64_t blocks = (positions + block - 1) / block;
    const std::int64_t of_part = (blocks + most_parts - 1) / most_parts;
    part = of_part * block;
    parts = (blocks + of_part - 1) / of_part;
  }

  std::int64_t part = 0;   // positions per split
  std::int64_t parts = 0;  // number of splits, at most most_parts
};

/// Partial results per split. A row is one head of one query: there are B T H rows.
struct CachedPartials {
  Tensor sums;    // (parts, rows, D): sums of exp(score - largest) v
  Tensor stats;   // (parts, rows, 2): largest score, sum of exp(score - largest)
  Tensor scores;  // (parts, rows, block): used on the host

  CachedPartials(Arena& scratch, const Shape& queries, std::int64_t parts) {
    const std::int64_t rows = queries[0] * queries[1] * queries[2];
    sums = scratch.take("attention sums", DType::f32, {parts, rows, queries[3]});
    stats = scratch.take("attention statistics", DType::f32, {parts, rows, 2});
    scores = scratch.take("attention scores", DType::f32, {parts, rows, CachedCut::block});
  }
};

/// The sizes that q and the cached k and v agree on (`length` is T); `window` is left 0. An
/// internal error if they disagree or lie in another memory space.
Sizes cached_sizes_of(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                      MemorySpace space);

}  // namespace triax::attention
