// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt.
#include "kernels/cuda/matmul/blas.hpp"

#include "kernels/cuda/launch/kernel_times.hpp"

#include <cublasLt.h>

#include <optional>
#include <unordered_map>
#include <utility>

namespace triax::cuda {
namespace {

void check_blas(cublasStatus_t status, const char* call, const BlasProduct& product) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(
      fmt::format("{} failed for a product {}", call, product.text()),
      fmt::format("{}: {}", cublasLtGetStatusName(status), cublasLtGetStatusString(status)),
      "The error may be an earlier kernel's: set CUDA_LAUNCH_BLOCKING=1 in the environment to "
      "find it, and CUBLASLT_LOG_LEVEL=2 to see the library's reason");
}

// Owner of a cuBLASLt object, with the function that destroys it.
template <class Handle, cublasStatus_t (*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) destroy(handle_);  // a destructor cannot report a failure
  }
  Handle* out() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using Library = Owned<cublasLtHandle_t, cublasLtDestroy>;

cudaDataType_t library_type(DType type) {
  switch (type) {
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

cudaDataType_t library_type(const BlasOperand& operand, DType type) {
  if (!operand.codes) return library_type(type);
  return *operand.codes == Float8::e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

// Number of an fp8 format for the hash, 0 for none.
std::int64_t number_of(const std::optional<Float8>& codes) {
  return codes ? 1 + static_cast<std::int64_t>(*codes) : 0;
}

cublasLtEpilogue_t library_epilogue(BlasEpilogue epilogue) {
  switch (epilogue) {
    case BlasEpilogue::none:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case BlasEpilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case BlasEpilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU_AUX;
    case BlasEpilogue::gelu_bias:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case BlasEpilogue::gelu_gradient:
      return CUBLASLT_EPILOGUE_DGELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

// Suffix of a product's name in the kernel times.
std::string_view name_of(BlasEpilogue epilogue) {
  switch (epilogue) {
    case BlasEpilogue::none:
      return "";
    case BlasEpilogue::bias:
      return " with bias";
    case BlasEpilogue::gelu:
    case BlasEpilogue::gelu_bias:
      return " with GELU";
    case BlasEpilogue::gelu_gradient:
      return " with GELU's gradient";
  }
  return "";
}

// A product in cuBLASLt's terms, and the algorithm that the library chose; none if it has no
// algorithm.
struct Plan {
  Description description;
  Layout left, right, d;
  std::optional<cublasLtMatmulAlgo_t> algorithm;
  std::string name;  // in the kernel times
};

struct ProductHash {
  std::size_t operator()(const BlasProduct& x) const {
    std::size_t hash = 0;
    const auto flags = number_of(x.left.codes) * 256 + number_of(x.right.codes) * 64 +
                       static_cast<std::int64_t>(x.epilogue) * 8 + std::int64_t{x.accumulate} * 4 +
                       std::int64_t{x.left.transposed} * 2 + std::int64_t{x.right.transposed};
    for (const std::int64_t value :
         {x.rows, x.columns, x.depth, x.left.stride, x.right.stride, x.d.stride,
          std::int64_t{x.left.alignment}, std::int64_t{x.right.alignment},
          std::int64_t{x.d.alignment}, std::int64_t(x.type), std::int64_t(x.d_type), x.aux_stride,
          std::int64_t{x.bias_alignment}, flags})
      hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::size_t>(value) + (hash >> 29U);
    return hash;
  }
};

class Products {
 public:
  /// first: the product it is created for, for error messages.
  Products(const Memory& workspace, const BlasProduct& first)
      : workspace_(workspace.tensor(DType::u8, {static_cast<std::int64_t>(workspace.bytes())})) {
    check_blas(cublasLtCreate(library_.out()), "cublasLtCreate", first);
  }

  bool has(const BlasProduct& x, const BlasMemory& memory) {
    return plan_of(x, memory).algorithm.has_value();
  }

  bool run(const Stream& stream, const BlasProduct& x, const BlasMemory& memory) {
    const float one = 1.0F;
    const float beta = x.accumulate ? 1.0F : 0.0F;
    const Plan& plan = plan_of(x, memory);
    if (!plan.algorithm) return false;
    set_pointers(plan, x, memory);
    const KernelTimer timer(stream, plan.name.c_str());
    check_blas(
        cublasLtMatmul(library_.get(), plan.description.get(), &one, memory.left, plan.left.get(),
                       memory.right, plan.right.get(), &beta, memory.d, plan.d.get(), memory.d,
                       plan.d.get(), &*plan.algorithm, workspace_.data(), blas_workspace_bytes,
                       static_cast<cudaStream_t>(native_stream(stream))),
        "cublasLtMatmul", x);
    return true;
  }

 private:
  template <class T>
  static void set(const Plan& plan, cublasLtMatmulDescAttributes_t what, const T& value,
                  const BlasProduct& x) {
    check_blas(cublasLtMatmulDescSetAttribute(plan.description.get(), what, &value, sizeof value),
               "cublasLtMatmulDescSetAttribute", x);
  }

  template <class T>
  static void prefer(const Preference& preference, cublasLtMatmulPreferenceAttributes_t what,
                     const T& value, const BlasProduct& x) {
    check_blas(cublasLtMatmulPreferenceSetAttribute(preference.get(), what, &value, sizeof value),
               "cublasLtMatmulPreferenceSetAttribute", x);
  }

  // Layout of an operand as it is stored. rows, columns: the size it has in the product.
  static Layout layout(const BlasOperand& operand, DType type, std::int64_t rows,
                       std::int64_t columns, const BlasProduct& x) {
    if (operand.transposed) std::swap(rows, columns);
    Layout made;
    check_blas(cublasLtMatrixLayoutCreate(made.out(), library_type(operand, type),
                                          static_cast<std::uint64_t>(rows),
                                          static_cast<std::uint64_t>(columns), operand.stride),
               "cublasLtMatrixLayoutCreate", x);
    return made;
  }

  const Plan& plan_of(const BlasProduct& x, const BlasMemory& memory) {
    const auto found = plans_.find(x);
    return found != plans_.end() ? found->second : plans_.emplace(x, make(x, memory)).first->second;
  }

  // Also called before the heuristic, which looks at the alignment of these pointers.
  static void set_pointers(const Plan& plan, const BlasProduct& x, const BlasMemory& memory) {
    if (memory.bias != nullptr) set(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory.bias, x);
    if (memory.aux != nullptr) set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, memory.aux, x);
    if (memory.left_scale == nullptr) return;
    set(plan, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(memory.left_scale), x);
    set(plan, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(memory.right_scale),
        x);
  }

  Plan make(const BlasProduct& x, const BlasMemory& memory) const {
    Plan plan;
    check_blas(cublasLtMatmulDescCreate(plan.description.out(), CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "cublasLtMatmulDescCreate", x);
    const auto operation = [](const BlasOperand& operand) {
      return operand.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    set(plan, CUBLASLT_MATMUL_DESC_TRANSA, operation(x.left), x);
    set(plan, CUBLASLT_MATMUL_DESC_TRANSB, operation(x.right), x);
    if (x.epilogue != BlasEpilogue::none)
      set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE, library_epilogue(x.epilogue), x);
    if (memory.bias != nullptr)
      set(plan, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, library_type(x.d_type), x);
    if (memory.aux != nullptr) set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, x.aux_stride, x);
    set_pointers(plan, x, memory);
    plan.left = layout(x.left, x.type, x.rows, x.depth, x);
    plan.right = layout(x.right, x.type, x.depth, x.columns, x);
    plan.d = layout(x.d, x.d_type, x.rows, x.columns, x);
    choose(plan, x);
    plan.name = fmt::format("product {}{}", x.text(), name_of(x.epilogue));
    return plan;
  }

  void choose(Plan& plan, const BlasProduct& x) const {
    Preference preference;
    check_blas(cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate",
               x);
    prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, blas_workspace_bytes, x);
    // Partial sums of a split product are added in float32, not in the type of d.
    prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE), x);
    const auto alignment = [](const BlasOperand& operand) {
      return static_cast<std::uint32_t>(operand.alignment);
    };
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(x.left), x);
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(x.right), x);
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(x.d), x);
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(x.d), x);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        library_.get(), plan.description.get(), plan.left.get(), plan.right.get(), plan.d.get(),
        plan.d.get(), preference.get(), 1, &best, &found);
    const bool has = status == CUBLAS_STATUS_SUCCESS && found > 0;
    if (has) plan.algorithm = best.algo;
    if (has) return;
    // The caller then asks for a product without the epilogue or without fp8.
    const bool refused = status == CUBLAS_STATUS_SUCCESS || status == CUBLAS_STATUS_NOT_SUPPORTED ||
                         status == CUBLAS_STATUS_INVALID_VALUE;
    if (refused && (x.epilogue > BlasEpilogue::bias || x.left.codes)) return;
    if (status != CUBLAS_STATUS_NOT_SUPPORTED)
      check_blas(status, "cublasLtMatmulAlgoGetHeuristic", x);
    throw Error(fmt::format("cuBLASLt has no algorithm for a product {}", x.text()),
                "its heuristic found none", "Use float32, or sizes that are multiples of 8");
  }

  Library library_;
  Tensor workspace_;  // memory of the stream
  std::unordered_map<BlasProduct, Plan, ProductHash> plans_;
};

}  // namespace

namespace {
Products& products_of(const Stream& stream, const BlasProduct& product) {
  return kept_by<Products>(stream, Kept::blas, memory_of(stream, Kept::workspace), product);
}
}  // namespace

bool blas_has(const Stream& stream, const BlasProduct& product, const BlasMemory& memory) {
  return products_of(stream, product).has(product, memory);
}

bool blas_multiply(const Stream& stream, const BlasProduct& product, const BlasMemory& memory) {
  return products_of(stream, product).run(stream, product, memory);
}

}  // namespace triax::cuda
