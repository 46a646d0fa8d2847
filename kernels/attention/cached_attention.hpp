// SPDX-License-Identifier: Apache-2.0
#pragma once
// Causal attention of the newest tokens of a text over the KV cache: generation computes a token's
// key and value once and reads them for every later token. Memory bandwidth bounds it;
// attention.hpp is bound by arithmetic.
#include "kernels/attention/attention.hpp"

namespace triax {

/// Upper bound of the bytes that cached_attention takes from its arena, on host and device; it
/// rewinds the arena. queries: (B, T, H, D). Grows with T and, up to a limit, with `positions`: the
/// bound for the largest number of positions suffices for fewer.
std::size_t cached_attention_scratch_bytes(const Shape& queries, std::int64_t positions);

/// out = softmax(cap(scale q k^T) + mask) v for the last T of n positions: query i sees keys up to
/// n - T + i, from 0 on or, with a window, the last `window` of them. Positions that no query sees
/// are not read. `options`: scale, window and soft_cap; dropout is an internal error.
/// q, out: (B, T, H, D); k, v: (B, n, Hkv, D) with n >= T and H a multiple of Hkv (query head h
/// reads key head h / (H / Hkv)). Views may be strided; the last dimension has stride 1. All have
/// one type; all arithmetic is float32, and each result is rounded once.
/// Meant for few queries, where reading k and v dominates: the positions are cut into splits that
/// threads share (Dao et al. 2023, "Flash-Decoding"). The cut depends on the number of positions
/// that are read alone, so the result does not depend on the number of threads.
void cached_attention(const Stream& stream, const Tensor& out, const Tensor& q, const Tensor& k,
                      const Tensor& v, const AttentionOptions& options, Arena& scratch);

}  // namespace triax
