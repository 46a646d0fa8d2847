#pragma once
// Sums over ranks whose order is that of the ranks, whoever makes them.
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/dtype.hpp"

namespace triax {

/// Whether rank_order_sum takes elements of `type`: f32, bf16 and f16.
constexpr bool has_rank_order_sum(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

/// to[i] = from[0][i] + from[1][i] + ..., in that order and in float32, rounded once, for `bytes`
/// of elements of `type`; the same goes to `copy`, which may be null. `to` may be one of `from`.
/// `streamed` (null: none) is what is read from memory, and asked for ahead: the others are in a
/// cache.
void rank_order_sum(DType type, std::span<const std::byte* const> from, std::byte* to,
                    std::byte* copy, std::int64_t bytes, const std::byte* streamed = nullptr);

/// `bytes` from memory to a cache, asked for ahead. They do not overlap.
void streamed_copy(std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace triax
