// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pages of a KV cache: memory in blocks of some positions, which sequences of any length share.
#include <cstdint>
#include <span>

#include "kernels/base/device/device.hpp"

namespace triax {

/// Consecutive rows of a packed batch that are consecutive positions of one sequence.
struct PagedChunk {
  std::int64_t first_row = 0, rows = 0;
  std::int64_t past = 0;  // position of the first row
  /// table[i]: the page of positions [i T, (i + 1) T), for all positions up to the last row's.
  const std::int32_t* table = nullptr;
};

/// Positions per page are a multiple of page_multiple and divide paged_span.
inline constexpr std::int64_t page_multiple = 16, paged_span = 128;

/// Shape of the KV cache of one layer: (pages, Hkv, 2, T D). Of a page and a head it holds the keys
/// as (D, T), so that the scores of T keys are computed together, and the values as (T, D).
inline Shape paged_cache_shape(std::int64_t pages, std::int64_t kv_heads, std::int64_t page_tokens,
                               std::int64_t head_size) {
  return {pages, kv_heads, 2, page_tokens * head_size};
}

/// Writes keys and values of the rows to their pages. k, v: (rows, Hkv, D) float32, heads
/// contiguous; cache: float32 or bfloat16, `page_tokens` positions per page. The first position of
/// a page clears the values of the others. Host only.
void store_pages(const Stream& stream, const Tensor& cache, std::int64_t page_tokens,
                 const Tensor& k, const Tensor& v, std::span<const PagedChunk> chunks);

}  // namespace triax
