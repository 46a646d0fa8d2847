// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums over ranks in rank order, whichever rank computes them.
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/dtype.hpp"

namespace triax {

/// True for the element types rank_order_sum() supports: f32, bf16 and f16.
constexpr bool has_rank_order_sum(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

/// to[i] = from[0][i] + from[1][i] + ..., in that order, in float32, rounded once. `bytes`: size of
/// each operand, of elements of `type`. The sum is also stored in `copy` (null: nowhere). `to` may
/// be one of `from`. `streamed` (null: none) is the operand that lies in main memory and is
/// prefetched; the others are in a cache.
void rank_order_sum(DType type, std::span<const std::byte* const> from, std::byte* to,
                    std::byte* copy, std::int64_t bytes, const std::byte* streamed = nullptr);

/// Copies `bytes` from main memory to a cache with prefetching. The ranges must not overlap.
void streamed_copy(std::byte* to, const std::byte* from, std::int64_t bytes);

}  // namespace triax
