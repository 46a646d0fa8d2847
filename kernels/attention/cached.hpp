#pragma once
// How cached attention is cut, on the host and on a device.
#include "kernels/attention/sizes.hpp"
#include "kernels/base/device/arena.hpp"

namespace triax::attention {

/// Positions in parts of equal size, whole blocks of them but for the last. A function of their
/// number alone.
struct CachedCut {
  static constexpr std::int64_t block = 32;  // positions whose scores are made together
  static constexpr std::int64_t most_parts = 64;

  explicit CachedCut(std::int64_t positions) {
    if (positions == 0) return;
    const std::int64_t blocks = (positions + block - 1) / block;
    const std::int64_t of_part = (blocks + most_parts - 1) / most_parts;
    part = of_part * block;
    parts = (blocks + of_part - 1) / of_part;
  }

  std::int64_t part = 0;   // positions of one
  std::int64_t parts = 0;  // at most most_parts
};

/// What a part leaves of each row, a head of a query: B T H of them.
struct CachedPartials {
  Tensor sums;    // (parts, rows, D): of exp(score - largest) v
  Tensor stats;   // (parts, rows, 2): largest score, sum of exp(score - largest)
  Tensor scores;  // (parts, rows, block): of the host's

  CachedPartials(Arena& scratch, const Shape& queries, std::int64_t parts) {
    const std::int64_t rows = queries[0] * queries[1] * queries[2];
    sums = scratch.take("attention sums", DType::f32, {parts, rows, queries[3]});
    stats = scratch.take("attention statistics", DType::f32, {parts, rows, 2});
    scores = scratch.take("attention scores", DType::f32, {parts, rows, CachedCut::block});
  }
};

/// The sizes that q and the kept k and v agree on (`length` is T); checks them and where they lie.
Sizes cached_sizes_of(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                      MemorySpace space);

}  // namespace triax::attention
