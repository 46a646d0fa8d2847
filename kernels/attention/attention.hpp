// SPDX-License-Identifier: Apache-2.0
#pragma once
// Causal attention in tiles (FlashAttention: Dao 2022, 2023): no T x T matrix is stored.
#include "kernels/base/device/arena.hpp"
#include "kernels/random/dropout.hpp"

namespace triax {

/// Options of attention_forward, attention_backward and cached_attention.
struct AttentionOptions {
  float scale = 1.0F;  // of q k^T, usually 1/sqrt(D)
  /// Keys that a query sees, its own included (query i: keys i - window + 1 to i); 0: all. Sliding
  /// windows: Beltagy et al. 2020, "Longformer".
  std::int64_t window = 0;
  /// Scores become soft_cap tanh(score / soft_cap), before the mask (Gemma Team 2024, "Gemma 2");
  /// 0: none.
  float soft_cap = 0.0F;
  /// (B, T) int32: the position of each token in its document, which counts up from 0 and begins
  /// again with each document of a sequence. A query sees keys of its own document only. Empty:
  /// every sequence is one document. cached_attention does not take it.
  Tensor positions = {};
  /// Applied to the probabilities. Element (b, h, i, j) has index ((b H + h) T + i) T + j, where b
  /// and h are global and H is total_heads.
  Dropout dropout = {};
  std::int64_t first_batch = 0;  // global index of the first sample here
  std::int64_t first_head = 0;   // global index of the first head here
  std::int64_t total_heads = 0;  // used with dropout only
};

/// Upper bound of the bytes that either direction takes from its arena in `space`; both rewind it.
/// queries: (B, T, H, D). On the host: one set of buffers per thread that gets a head, linear in T;
/// Kokkos must have been started. On a device: one number per row of each head and, in a build with
/// cuDNN, its workspace (at most 1 GiB) for the types and heads that it supports.
std::size_t attention_scratch_bytes(const Shape& queries, DType type, MemorySpace space);

/// out = softmax(cap(scale q k^T) + mask) v, with the soft cap and the causal mask, window and
/// documents of `options`. Tiles of keys outside the window or the documents of their queries take
/// no time.
/// q, out: (B, T, H, D); k, v: (B, T, Hkv, D) with H a multiple of Hkv (query head h reads key head
/// h / (H / Hkv)); lse: (B, H, T), the log-sum-exp of each row of capped scores, kept for the
/// backward pass.
/// Views may be strided (slices of a fused qkv matrix); the last dimension has stride 1. All have
/// one type, float32, bfloat16 or half precision, except lse, which is float32. All arithmetic is
/// float32; each result is rounded once. Exceptions: a device multiplies 16-bit types on tensor
/// cores and rounds probabilities and the gradients of scores to that type first; the host does the
/// same for bfloat16 with heads of even size where pair products pay (pair_products_pay()).
/// The result does not depend on the number of threads or CUDA blocks that share the heads.
void attention_forward(const Stream& stream, const Tensor& out, const Tensor& lse, const Tensor& q,
                       const Tensor& k, const Tensor& v, const AttentionOptions& options,
                       Arena& scratch);

/// dq, dk, dv (shapes of q, k, v; overwritten) from dout, with out and lse of the forward pass.
void attention_backward(const Stream& stream, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                        const Tensor& dout, const Tensor& out, const Tensor& lse, const Tensor& q,
                        const Tensor& k, const Tensor& v, const AttentionOptions& options,
                        Arena& scratch);

}  // namespace triax
