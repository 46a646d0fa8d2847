// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn/attention_cudnn.hpp"

#include <cuda_runtime_api.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "kernels/cuda/cudnn/attention_plan.hpp"
#include "kernels/cuda/launch/check_call.hpp"
#include "kernels/cuda/launch/kernel_times.hpp"

namespace triax::cuda {
namespace {

AttentionStrides strides_of(const Tensor& x) {
  return x.empty() ? AttentionStrides{}
                   : AttentionStrides{x.stride(0), x.stride(2), x.stride(1)};  // of (B, T, H, D)
}

// Whether every row begins at a 16-byte boundary.
bool aligned_rows(const Tensor& x) {
  const std::int64_t piece = 16 / static_cast<std::int64_t>(size_of(x.dtype()));
  for (int dim = 0; dim < 3; ++dim)
    if (x.stride(dim) % piece != 0) return false;
  return reinterpret_cast<std::uintptr_t>(x.data()) % 16 == 0;
}

// Alignment (bytes) of cuDNN's workspace: that of cudaMalloc. Pieces of an arena may be aligned to
// less.
constexpr std::int64_t workspace_alignment = 256;

void* begin_of(const Tensor& piece) {
  void* begin = piece.data();
  auto bytes = static_cast<std::size_t>(piece.bytes());
  return std::align(workspace_alignment, bytes - workspace_alignment, begin, bytes);
}

bool takes(DType type, std::int64_t head_size) {
  return type != DType::f32 && head_size % 8 == 0 && head_size <= 128;
}

// The problem for cuDNN, or nothing if our own kernels must solve it.
std::optional<AttentionProblem> problem_of(const AttentionTensors& on,
                                           const AttentionOptions& options, bool backward) {
  const std::int64_t head_size = on.q.size(3);
  if (on.q.empty() || options.dropout.probability > 0.0F) return {};
  const bool windowed = options.window > 0 && options.window < on.q.size(1);
  if (windowed || options.soft_cap > 0.0F || !options.positions.empty()) return {};
  // cuDNN scales masked scores too: -infinity becomes NaN for scale 0 and +infinity for a negative
  // scale.
  if (!(options.scale > 0.0F)) return {};
  if (!takes(on.q.dtype(), head_size)) return {};
  for (const Tensor* x : {&on.q, &on.k, &on.v, &on.out, &on.dout, &on.dq, &on.dk, &on.dv})
    if (!x->empty() && !aligned_rows(*x)) return {};
  if (reinterpret_cast<std::uintptr_t>(on.lse.data()) % 16 != 0 || on.lse.stride(2) != 1) return {};
  return AttentionProblem{.backward = backward,
                          .type = on.q.dtype(),
                          .batch = on.q.size(0),
                          .length = on.q.size(1),
                          .heads = on.q.size(2),
                          .key_heads = on.k.size(2),
                          .head_size = head_size,
                          .q = strides_of(on.q),
                          .k = strides_of(on.k),
                          .v = strides_of(on.v),
                          .out = strides_of(on.out),
                          .lse = {on.lse.stride(0), on.lse.stride(1), 1},
                          .dout = strides_of(on.dout),
                          .dq = strides_of(on.dq),
                          .dk = strides_of(on.dk),
                          .dv = strides_of(on.dv)};
}

// The problem of one slice, with the strides of the whole tensors.
AttentionProblem problem_of(const AttentionProblem& whole, const AttentionSlice& slice) {
  AttentionProblem part = whole;
  part.batch = slice.samples;
  part.key_heads = slice.key_heads;
  part.heads = whole.heads / whole.key_heads * slice.key_heads;
  return part;
}

// Views of one slice: `slice.samples` samples and `slice.key_heads` key heads from (sample,
// key_head) on.
AttentionTensors slice_of(const AttentionTensors& on, const AttentionSlice& slice,
                          std::int64_t sample, std::int64_t key_head) {
  const std::int64_t group = on.q.size(2) / on.k.size(2);
  const auto cut = [&](const Tensor& x, int heads_dim, std::int64_t of_key_head) {
    return x.slice(0, sample, slice.samples)
        .slice(heads_dim, key_head * of_key_head, slice.key_heads * of_key_head);
  };
  return {cut(on.q, 2, group),    cut(on.k, 2, 1),       cut(on.v, 2, 1),
          cut(on.out, 2, group),  cut(on.lse, 1, group), cut(on.dout, 2, group),
          cut(on.dq, 2, group),   cut(on.dk, 2, 1),      cut(on.dv, 2, 1),
          cut(on.delta, 1, group)};
}

// Whether lse and delta begin at 16-byte boundaries in every slice.
bool can_slice(const AttentionProblem& whole, const AttentionSlice& slice) {
  const bool one = slice.samples == whole.batch && slice.key_heads == whole.key_heads;
  return slice.samples > 0 && (one || whole.length % 4 == 0);
}

// cuDNN's handle and the plans compiled so far, kept by a stream.
class Attentions {
 public:
  explicit Attentions(void* stream) : library_(CudnnLibrary::find()) {
    if (!library_) return;
    library_->check(library_->create(&handle_), "cudnnCreate");
    library_->check(library_->set_stream(handle_, static_cast<cudaStream_t>(stream)),
                    "cudnnSetStream");
    int device = 0, major = 0, minor = 0;
    check_call(cudaGetDevice(&device), "cudaGetDevice");
    check_call(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
               "cudaDeviceGetAttribute");
    check_call(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
               "cudaDeviceGetAttribute");
    architecture_ = major * 10 + minor;
  }
  Attentions(const Attentions&) = delete;
  Attentions& operator=(const Attentions&) = delete;
  ~Attentions() {
    plans_.clear();
    if (handle_ != nullptr) library_->destroy(handle_);  // a destructor cannot report a failure
  }

  bool forward(const Stream& stream, const AttentionProblem& problem, const AttentionTensors& on,
               float scale, Arena& scratch) {
    const auto* plan = plan_of(problem);
    if (plan == nullptr) return false;
    const ArenaScope scope(scratch);
    void* workspace = take_workspace(*plan, scratch);
    const KernelTimer timer(stream, "cuDNN attention");
    execute(*plan, on, scale, workspace);
    return true;
  }

  bool backward(const Stream& stream, const AttentionProblem& problem, const AttentionTensors& on,
                float scale, Arena& scratch) {
    const AttentionSlice slice = attention_slice(problem);
    if (!can_slice(problem, slice)) return false;
    const auto* plan = plan_of(problem_of(problem, slice));
    if (plan == nullptr) return false;
    const ArenaScope scope(scratch);
    void* workspace = take_workspace(*plan, scratch);
    const KernelTimer timer(stream, "cuDNN attention gradients");
    for (std::int64_t b = 0; b < problem.batch; b += slice.samples)
      for (std::int64_t h = 0; h < problem.key_heads; h += slice.key_heads)
        execute(*plan, slice_of(on, slice, b, h), scale, workspace);
    return true;
  }

 private:
  // The plan of a problem, compiled at first use; null if cuDNN has none.
  const AttentionPlan* plan_of(const AttentionProblem& problem) {
    if (!library_) return nullptr;
    const auto found = plans_.find(problem);
    if (found != plans_.end()) return found->second ? &*found->second : nullptr;
    const std::int64_t most =
        attention_plan_workspace(problem.batch * problem.heads, problem.length, problem.head_size);
    const auto& made =
        plans_
            .emplace(problem, make_attention_plan(*library_, {handle_, nullptr, architecture_},
                                                  problem, most))
            .first->second;
    return made ? &*made : nullptr;
  }

  static void* take_workspace(const AttentionPlan& plan, Arena& scratch) {
    if (plan.workspace == 0) return nullptr;
    return begin_of(
        scratch.take("attention cuDNN", DType::u8, {plan.workspace + workspace_alignment}));
  }

  void execute(const AttentionPlan& plan, const AttentionTensors& on, float scale,
               void* workspace) const {
    float masked = -std::numeric_limits<float>::infinity();
    float one = 1.0F;
    std::vector<std::int64_t> ids;
    std::vector<void*> pointers;
    const auto put = [&](AttentionOperand operand, void* pointer) {
      if (pointer == nullptr) return;
      ids.push_back(static_cast<std::int64_t>(operand));
      pointers.push_back(pointer);
    };
    put(AttentionOperand::q, on.q.data());
    put(AttentionOperand::k, on.k.data());
    put(AttentionOperand::v, on.v.data());
    put(AttentionOperand::out, on.out.data());
    put(AttentionOperand::lse, on.lse.data());
    put(AttentionOperand::dout, on.dout.data());
    put(AttentionOperand::dq, on.dq.data());
    put(AttentionOperand::dk, on.dk.data());
    put(AttentionOperand::dv, on.dv.data());
    put(AttentionOperand::delta, on.delta.data());
    put(AttentionOperand::scale, &scale);
    put(AttentionOperand::masked, &masked);
    if (!on.delta.empty()) put(AttentionOperand::one, &one);
    CudnnDescriptor pack(*library_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const std::int64_t>(ids))
        .set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(pointers))
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace)
        .finish();
    library_->check(library_->execute(handle_, plan.plan.get(), pack.get()), "cudnnBackendExecute");
  }

  std::shared_ptr<const CudnnLibrary> library_;  // null if the machine has no usable cuDNN
  cudnnHandle_t handle_ = nullptr;
  int architecture_ = 0;
  std::map<AttentionProblem, std::optional<AttentionPlan>> plans_;
};

bool run(const Stream& stream, const AttentionTensors& on, const AttentionOptions& options,
         bool backward, Arena& scratch) {
  const auto problem = problem_of(on, options, backward);
  if (!problem) return false;
  auto& kept = kept_by<Attentions>(stream, Kept::attention, native_stream(stream));
  return backward ? kept.backward(stream, *problem, on, options.scale, scratch)
                  : kept.forward(stream, *problem, on, options.scale, scratch);
}

}  // namespace

bool cudnn_attention_forward(const Stream& stream, const AttentionTensors& on,
                             const AttentionOptions& options, Arena& scratch) {
  return run(stream, on, options, false, scratch);
}

bool cudnn_attention_backward(const Stream& stream, const AttentionTensors& on,
                              const AttentionOptions& options, Arena& scratch) {
  return run(stream, on, options, true, scratch);
}

std::int64_t cudnn_attention_workspace(const Shape& queries, DType type) {
  if (!takes(type, queries[3])) return 0;
  return attention_plan_workspace(queries[0] * queries[2], queries[1], queries[3]) +
         workspace_alignment;
}

}  // namespace triax::cuda
