// SPDX-License-Identifier: Apache-2.0
#pragma once
// Causal attention by cuDNN, in builds that find the headers of cuDNN 9.19 or later (CMake:
// TRIAX_CUDNN=AUTO, ON or OFF); attention_cudnn_absent.cpp serves all other builds. The library is
// opened at run time. Where it is missing, or with TRIAX_CUDNN=off in the environment, our own
// kernels run. On an H100 cuDNN is 1.6 to 2.4 times as fast forward and 1.2 to 2.2 times as fast
// backward (benchmarks/results/gpu/2026-11-27-h100.md).
#include "kernels/attention/attention.hpp"

namespace triax::cuda {

/// Operands of attention. dout to delta serve the backward pass only.
struct AttentionTensors {
  Tensor q, k, v, out, lse;
  Tensor dout = {}, dq = {}, dk = {}, dv = {};
  Tensor delta = {};  // (B, H, T), written
};

/// Attention as in kernels/attention/attention.hpp. Returns false, and does nothing, if cuDNN is
/// absent, has no plan (attention_plan.hpp) or does not take the operands: it takes 16-bit types,
/// head sizes that are multiples of 8 up to 128, rows that begin at 16-byte boundaries, and no
/// dropout, soft cap, documents or window shorter than the sequence.
bool cudnn_attention_forward(const Stream& stream, const AttentionTensors& on,
                             const AttentionOptions& options, Arena& scratch);
bool cudnn_attention_backward(const Stream& stream, const AttentionTensors& on,
                              const AttentionOptions& options, Arena& scratch);

/// Most bytes that either pass takes from its scratch; a plan that needs more is not used. The
/// value does not depend on the machine, so that a dry run knows it. It is 0 for types and head
/// sizes that cuDNN does not take.
std::int64_t cudnn_attention_workspace(const Shape& queries, DType type);

}  // namespace triax::cuda
