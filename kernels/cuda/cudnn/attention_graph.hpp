// SPDX-License-Identifier: Apache-2.0
#pragma once
// Causal attention as a cuDNN operation graph: the same small operations, node for node, as
// NVIDIA's cudnn-frontend 1.23 makes, because cuDNN's engines match patterns. cuDNN 9.19's single
// descriptor for attention (CUDNN_ATTR_OPERATION_SDPA_*) has no causal mask; 9.21's has.
#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "kernels/base/dtype.hpp"
#include "kernels/cuda/cudnn/cudnn_descriptor.hpp"

namespace triax::cuda {

/// Operands of a graph, numbered from 1 in a variant pack. delta (B, H, T) is memory of the
/// backward pass. The last three are float32 numbers on the host.
enum class AttentionOperand : std::int64_t {
  q = 1,
  k,
  v,
  out,
  lse,
  dout,
  dq,
  dk,
  dv,
  delta,
  scale,
  masked,
  one
};

/// Elements between samples, between heads and between rows.
struct AttentionStrides {
  std::int64_t batch = 0, head = 0, row = 0;
  auto operator<=>(const AttentionStrides&) const = default;
};

/// Everything a plan depends on.
struct AttentionProblem {
  bool backward = false;
  DType type = DType::bf16;  // a 16-bit type
  std::int64_t batch = 0, length = 0, heads = 0, key_heads = 0, head_size = 0;
  AttentionStrides q = {}, k = {}, v = {}, out = {}, lse = {};
  AttentionStrides dout = {}, dq = {}, dk = {}, dv = {};  // of the backward pass
  auto operator<=>(const AttentionProblem&) const = default;
};

/// An operation graph, with the descriptors that it refers to.
struct AttentionGraph {
  std::vector<CudnnDescriptor> parts;  // tensors, and the parameters of operations
  std::vector<CudnnDescriptor> operations;
  CudnnDescriptor graph;
};

/// handle: null to plan for a device that is only described. The backward graph makes dq by one
/// product, so that engines sum in a fixed order, without adding to float32 sums in memory.
AttentionGraph make_attention_graph(const CudnnLibrary& library, cudnnHandle_t handle,
                                    const AttentionProblem& problem);

}  // namespace triax::cuda
