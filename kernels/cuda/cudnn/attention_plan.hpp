// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans of cuDNN for causal attention: an engine with its kernels compiled (0.5 to 3 s each).
// Only engines that sum in a fixed order are used. That they do is cudnn-frontend's word: cuDNN
// notes no engine as nondeterministic, not even those that add float32 sums in memory. On sm_90 the
// backward pass then keeps a matrix of 16-bit scores per head (4.1 GiB for one sample of 32 heads
// and 8192 tokens), so it runs slice by slice. The gradients of keys that several query heads share
// are rounded once per query head and once more as a sum.
// test_attention_plan makes plans for described sm_90 and sm_100 devices on machines without a GPU.
#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/cudnn/attention_graph.hpp"

namespace triax::cuda {

/// Target of a plan: the device in use (handle), or a device known by its description only
/// (properties).
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

/// A device described in cuDNN's JSON (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
CudnnDescriptor described_device(const CudnnLibrary& library, const std::string& json);

/// Most bytes of workspace that a plan may use.
inline constexpr std::int64_t largest_attention_workspace = std::int64_t{1024} << 20;

/// Workspace (bytes) for `heads` query heads in all samples, at most largest_attention_workspace.
/// To sum in a fixed order, cuDNN 9.19 on sm_90 keeps a matrix of 16-bit scores per head, in whole
/// tiles of 128, and separate gradients of keys and values per query head.
std::int64_t attention_plan_workspace(std::int64_t heads, std::int64_t length,
                                      std::int64_t head_size);

/// Slices in which the backward pass runs when its workspace would be too large: some whole samples
/// at a time, or some key heads (with their query heads) of one sample. All slices have the same
/// size and share one plan. samples == 0: not even one key head fits.
struct AttentionSlice {
  std::int64_t samples = 0;
  std::int64_t key_heads = 0;
};
AttentionSlice attention_slice(const AttentionProblem& problem);

/// The first plan, in cuDNN's own order of preference, that sums in a fixed order and needs at most
/// `workspace` bytes. Returns nothing if there is none, or if the GPU is neither sm_90 nor sm_100.
std::optional<AttentionPlan> make_attention_plan(const CudnnLibrary& library,
                                                 const AttentionTarget& target,
                                                 const AttentionProblem& problem,
                                                 std::int64_t workspace);

}  // namespace triax::cuda
