#pragma once
// Attention by cuDNN, in a build for it (TRIAX_CUDNN); attention_cudnn_absent.cpp is that of all
// other builds.
#include "kernels/attention/attention.hpp"

namespace triax::cuda {

/// What the passes of attention work on; dout to delta are the backward pass's own.
struct AttentionTensors {
  Tensor q, k, v, out, lse;
  Tensor dout = {}, dq = {}, dk = {}, dv = {};
  Tensor delta = {};  // (B, H, T), written
};

/// Attention as kernels/attention/attention.hpp says it. False, with nothing done, where cuDNN is
/// absent, has no plan for it (attention_plan.hpp), or is not asked: it takes 16-bit types, heads
/// of up to 128 in rows of whole pieces, and no dropout.
bool cudnn_attention_forward(const Stream& stream, const AttentionTensors& on,
                             const AttentionOptions& options, Arena& scratch);
bool cudnn_attention_backward(const Stream& stream, const AttentionTensors& on,
                              const AttentionOptions& options, Arena& scratch);

/// What either takes from its scratch at most; a plan that wants more is not used. The same on
/// every machine, so that a dry run knows it; 0 for types and heads that are not cuDNN's.
std::int64_t cudnn_attention_workspace(const Shape& queries, DType type);

}  // namespace triax::cuda
