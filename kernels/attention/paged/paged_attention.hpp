// SPDX-License-Identifier: Apache-2.0
#pragma once
// Causal attention over a paged KV cache (Kwon et al. 2023, "PagedAttention") of a packed batch:
// rows of several sequences, each any run of its positions, prompts and single tokens together.
#include <cstdint>
#include <span>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/paged/paged_cache.hpp"

namespace triax {

/// Upper bound of the bytes that paged_attention takes from its arena, which it rewinds. queries:
/// (rows, H, D); `context`: most positions of a sequence.
std::size_t paged_attention_scratch_bytes(const Shape& queries, std::int64_t kv_heads,
                                          std::int64_t context);

/// out = softmax(cap(scale q k^T) + mask) v for each row: the row of position p sees its sequence's
/// positions up to p, with a window the last `window` of them. q, out: (rows, H, D) float32, heads
/// contiguous, H a multiple of Hkv; `options`: scale, window and soft_cap. All arithmetic is
/// float32. Host only.
/// A row's bits depend on its query and on the keys and values it sees alone: not on the other
/// rows, on how its sequence was cut into chunks, on which pages hold it, or on the number of
/// threads. Sums over positions go in spans of 128 and ranges of 1024 positions counted from 0.
void paged_attention(const Stream& stream, const Tensor& out, const Tensor& q, const Tensor& cache,
                     std::int64_t page_tokens, std::span<const PagedChunk> chunks,
                     const AttentionOptions& options, Arena& scratch);

}  // namespace triax
