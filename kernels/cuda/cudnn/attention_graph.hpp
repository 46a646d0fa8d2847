#pragma once
// Causal attention as cuDNN's engines know it: the graph of small operations that NVIDIA's
// cudnn-frontend (1.23) makes of it, node for node, since engines match patterns.
#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "kernels/base/dtype.hpp"
#include "kernels/cuda/cudnn/cudnn_descriptor.hpp"

namespace triax::cuda {

/// The numbers of a graph's operands, in this order from 1 in a pack of pointers. delta is memory
/// of the backward pass (B, H, T); the last three are float32 numbers of the host.
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

/// Elements between samples, heads and rows.
struct AttentionStrides {
  std::int64_t batch = 0, head = 0, row = 0;
  auto operator<=>(const AttentionStrides&) const = default;
};

/// All that a plan depends on.
struct AttentionProblem {
  bool backward = false;
  DType type = DType::bf16;  // of 16 bits
  std::int64_t batch = 0, length = 0, heads = 0, key_heads = 0, head_size = 0;
  AttentionStrides q = {}, k = {}, v = {}, out = {}, lse = {};
  AttentionStrides dout = {}, dq = {}, dk = {}, dv = {};  // backward
  auto operator<=>(const AttentionProblem&) const = default;
};

/// An operation graph, which lives as long as what it is made of.
struct AttentionGraph {
  std::vector<CudnnDescriptor> parts;  // tensors, and what operations do
  std::vector<CudnnDescriptor> operations;
  CudnnDescriptor graph;
};

/// handle: null to make plans for a device that is described. A backward graph is one that engines
/// sum in a fixed order: the gradients of queries are one product, with no sums in float32 that
/// blocks add to.
AttentionGraph make_attention_graph(const CudnnLibrary& library, cudnnHandle_t handle,
                                    const AttentionProblem& problem);

}  // namespace triax::cuda
