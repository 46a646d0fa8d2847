#pragma once
// A plan of cuDNN's for a causal attention: an engine, its kernels compiled.
#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/attention_graph.hpp"

namespace triax::cuda {

/// Whose plans: a device that is there (handle), or one by description alone (properties).
struct AttentionTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* properties = nullptr;
  int architecture = 0;  // 90 for sm_90
};

struct AttentionPlan {
  AttentionGraph graph;
  CudnnDescriptor engine;
  CudnnDescriptor plan;
  std::int64_t workspace = 0;  // bytes
};

/// A device as cuDNN describes one in JSON (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
CudnnDescriptor described_device(const CudnnLibrary& library, const std::string& json);

/// What a plan for so many heads of queries in all samples may take as its workspace. In a fixed
/// order cuDNN 9.19 sums on sm_90 by a matrix of 16-bit scores a head, in whole tiles of 128, and
/// keeps the gradients of keys and values of each head of queries apart; past some length that is
/// more than anybody would give it, and it is left at 256 MiB.
std::int64_t attention_plan_workspace(std::int64_t heads, std::int64_t length,
                                      std::int64_t head_size);

/// The first plan by cuDNN's own order whose sums have a fixed order and whose workspace has at
/// most `workspace` bytes; none where there is no such plan, or the GPU is neither sm_90 nor
/// sm_100.
std::optional<AttentionPlan> make_attention_plan(const CudnnLibrary& library,
                                                 const AttentionTarget& target,
                                                 const AttentionProblem& problem,
                                                 std::int64_t workspace);

}  // namespace triax::cuda
