#pragma once
// A plan of cuDNN's for a causal attention: an engine, its kernels compiled.
#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/cudnn/attention_graph.hpp"

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

/// The most that a plan may take as its workspace (bytes).
inline constexpr std::int64_t largest_attention_workspace = std::int64_t{1024} << 20;

/// Workspace of a plan for `heads` heads of queries in all samples, at most
/// largest_attention_workspace. In a fixed order cuDNN 9.19 sums on sm_90 by a matrix of 16-bit
/// scores for each head, in whole tiles of 128, and keeps the gradients of keys and values of each
/// head of queries apart.
std::int64_t attention_plan_workspace(std::int64_t heads, std::int64_t length,
                                      std::int64_t head_size);

/// A backward pass is made slice by slice where its workspace would be larger: so many whole
/// samples at a time, or so many key heads (with their queries) of one sample. Slices are of one
/// size, and so of one plan. 0 samples: not even one key head fits.
struct AttentionSlice {
  std::int64_t samples = 0;
  std::int64_t key_heads = 0;
};
AttentionSlice attention_slice(const AttentionProblem& problem);

/// The first plan by cuDNN's own order whose sums have a fixed order and whose workspace has at
/// most `workspace` bytes; none where there is no such plan, or the GPU is neither sm_90 nor
/// sm_100.
std::optional<AttentionPlan> make_attention_plan(const CudnnLibrary& library,
                                                 const AttentionTarget& target,
                                                 const AttentionProblem& problem,
                                                 std::int64_t workspace);

}  // namespace triax::cuda
