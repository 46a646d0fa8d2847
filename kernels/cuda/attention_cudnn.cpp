#include "kernels/cuda/attention_cudnn.hpp"

#include <cuda_runtime_api.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "kernels/cuda/attention_plan.hpp"
#include "kernels/cuda/check_call.hpp"
#include "kernels/cuda/kernel_times.hpp"

namespace triax::cuda {
namespace {

AttentionStrides strides_of(const Tensor& x) {
  return x.empty() ? AttentionStrides{}
                   : AttentionStrides{x.stride(0), x.stride(2), x.stride(1)};  // of (B, T, H, D)
}

// Whether every row begins with a whole piece of 16 bytes.
bool aligned_rows(const Tensor& x) {
  const std::int64_t piece = 16 / static_cast<std::int64_t>(size_of(x.dtype()));
  for (int dim = 0; dim < 3; ++dim)
    if (x.stride(dim) % piece != 0) return false;
  return reinterpret_cast<std::uintptr_t>(x.data()) % 16 == 0;
}

// cuDNN's workspace begins as memory of the CUDA runtime does; an arena's pieces need not.
constexpr std::int64_t workspace_alignment = 256;

void* begin_of(const Tensor& piece) {
  void* begin = piece.data();
  auto bytes = static_cast<std::size_t>(piece.bytes());
  return std::align(workspace_alignment, bytes - workspace_alignment, begin, bytes);
}

// What is left to cuDNN; none: the kernels of this folder do it.
std::optional<AttentionProblem> problem_of(const AttentionTensors& on,
                                           const AttentionOptions& options, bool backward) {
  constexpr std::int64_t largest_head = 128;
  const std::int64_t head_size = on.q.size(3);
  if (on.q.empty() || on.q.dtype() == DType::f32 || options.dropout.probability > 0.0F) return {};
  if (head_size % 8 != 0 || head_size > largest_head) return {};
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

// What a stream keeps of cuDNN.
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
    if (handle_ != nullptr) library_->destroy(handle_);  // nobody is left to hear of a failure
  }

  bool run(const Stream& stream, const AttentionProblem& problem, const AttentionTensors& on,
           float scale, Arena& scratch) {
    if (!library_) return false;
    const auto& plan = plan_of(problem, on.q.shape());
    if (!plan) return false;
    const ArenaScope scope(scratch);
    void* workspace = nullptr;
    if (plan->workspace > 0)
      workspace = begin_of(
          scratch.take("attention cuDNN", DType::u8, {plan->workspace + workspace_alignment}));
    const KernelTimer timer(stream,
                            problem.backward ? "cuDNN attention gradients" : "cuDNN attention");
    execute(*plan, on, scale, workspace);
    return true;
  }

 private:
  const std::optional<AttentionPlan>& plan_of(const AttentionProblem& problem,
                                              const Shape& queries) {
    const auto found = plans_.find(problem);
    if (found != plans_.end()) return found->second;
    return plans_
        .emplace(problem,
                 make_attention_plan(*library_, {handle_, nullptr, architecture_}, problem,
                                     cudnn_attention_workspace(queries) - workspace_alignment))
        .first->second;
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

  std::shared_ptr<const CudnnLibrary> library_;  // null: there is none
  cudnnHandle_t handle_ = nullptr;
  int architecture_ = 0;
  std::map<AttentionProblem, std::optional<AttentionPlan>> plans_;
};

bool run(const Stream& stream, const AttentionTensors& on, const AttentionOptions& options,
         bool backward, Arena& scratch) {
  const auto problem = problem_of(on, options, backward);
  if (!problem) return false;
  return kept_by<Attentions>(stream, Kept::attention, native_stream(stream))
      .run(stream, *problem, on, options.scale, scratch);
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

std::int64_t cudnn_attention_workspace(const Shape& queries) {
  return attention_plan_workspace(queries[0] * queries[2], queries[1], queries[3]);
}

}  // namespace triax::cuda
