#pragma once
// Causal attention in tiles (FlashAttention: Dao 2022, 2023): no T x T matrix is stored.
#include "kernels/base/device/arena.hpp"
#include "kernels/random/dropout.hpp"

namespace triax {

struct AttentionOptions {
  float scale = 1.0F;    // of q k^T, usually 1/sqrt(D)
  Dropout dropout = {};  // of the probabilities; element (b, h, i, j) has index ((b H + h) T + i) T
                         // + j, with b and h global: first_batch and first_head of H = total_heads
  std::int64_t first_batch = 0;
  std::int64_t first_head = 0;
  std::int64_t total_heads = 0;  // used with dropout only
};

/// Bytes that either direction takes from its arena in `space` at most, and gives back. queries:
/// (B, T, H, D). On the host: buffers for each thread that gets a head, linear in T; Kokkos must
/// have been started. On a device: one number per row of each head, and in a build with cuDNN its
/// workspace (at most 1 GiB) for the types and heads that it takes.
std::size_t attention_scratch_bytes(const Shape& queries, DType type, MemorySpace space);

/// out = softmax(scale q k^T + causal mask) v.
/// q, out: (B, T, H, D); k, v: (B, T, Hkv, D) with H a multiple of Hkv (query head h reads key head
/// h / (H / Hkv)); lse: (B, H, T), the log-sum-exp of each row, kept for the backward pass.
/// Views may be strided (slices of a fused qkv matrix); the last dimension has stride 1. All are of
/// one type, float32, bfloat16 or half precision, but lse, which is float32. All arithmetic is
/// float32; each result is rounded once. A device multiplies 16-bit types on tensor cores, which
/// take probabilities and the gradients of scores rounded to that type too; so does a processor
/// with AVX512-BF16 for bfloat16 with heads of even size.
/// The result does not depend on how many workers or blocks share out the heads.
void attention_forward(const Stream& stream, const Tensor& out, const Tensor& lse, const Tensor& q,
                       const Tensor& k, const Tensor& v, const AttentionOptions& options,
                       Arena& scratch);

/// dq, dk, dv (shapes of q, k, v; overwritten) from dout, with out and lse of the forward pass.
void attention_backward(const Stream& stream, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                        const Tensor& dout, const Tensor& out, const Tensor& lse, const Tensor& q,
                        const Tensor& k, const Tensor& v, const AttentionOptions& options,
                        Arena& scratch);

}  // namespace triax
