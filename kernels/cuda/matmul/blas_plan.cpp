// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/matmul/blas_plan.hpp"

#include <array>
#include <span>

#include "kernels/cuda/launch/stream.hpp"

namespace triax::cuda {

void check_blas(cublasStatus_t status, const char* call, const BlasProduct& product) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(
      fmt::format("{} failed for a product {}", call, product.text()),
      fmt::format("{}: {}", cublasLtGetStatusName(status), cublasLtGetStatusString(status)),
      "The error may be an earlier kernel's: set CUDA_LAUNCH_BLOCKING=1 in the environment to "
      "find it, and CUBLASLT_LOG_LEVEL=2 to see the library's reason");
}

namespace {

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

template <class T>
void set(const BlasPlan& plan, cublasLtMatmulDescAttributes_t what, const T& value,
         const BlasProduct& x) {
  check_blas(cublasLtMatmulDescSetAttribute(plan.description.get(), what, &value, sizeof value),
             "cublasLtMatmulDescSetAttribute", x);
}

template <class T>
void prefer(const Preference& preference, cublasLtMatmulPreferenceAttributes_t what, const T& value,
            const BlasProduct& x) {
  check_blas(cublasLtMatmulPreferenceSetAttribute(preference.get(), what, &value, sizeof value),
             "cublasLtMatmulPreferenceSetAttribute", x);
}

// Layout of an operand as it is stored. rows, columns: the size it has in the product.
Layout layout(const BlasOperand& operand, DType type, std::int64_t rows, std::int64_t columns,
              const BlasProduct& x) {
  if (operand.transposed) std::swap(rows, columns);
  Layout made;
  check_blas(cublasLtMatrixLayoutCreate(made.out(), library_type(operand, type),
                                        static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(columns), operand.stride),
             "cublasLtMatrixLayoutCreate", x);
  return made;
}

// Asks the heuristic for its algorithms.
void find_algorithms(cublasLtHandle_t library, BlasPlan& plan, const BlasProduct& x) {
  Preference preference;
  check_blas(cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate", x);
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
  std::array<cublasLtMatmulHeuristicResult_t, most_algorithms> results{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      library, plan.description.get(), plan.left.get(), plan.right.get(), plan.d.get(),
      plan.d.get(), preference.get(), most_algorithms, results.data(), &found);
  if (status == CUBLAS_STATUS_SUCCESS)
    for (const auto& result : std::span(results).first(static_cast<std::size_t>(found)))
      if (result.state == CUBLAS_STATUS_SUCCESS) plan.algorithms.push_back(result.algo);
  if (!plan.algorithms.empty()) return;
  // The caller then asks for a product without the epilogue or without fp8.
  const bool refused = status == CUBLAS_STATUS_SUCCESS || status == CUBLAS_STATUS_NOT_SUPPORTED ||
                       status == CUBLAS_STATUS_INVALID_VALUE;
  if (refused && (x.epilogue > BlasEpilogue::bias || x.left.codes)) return;
  if (status != CUBLAS_STATUS_NOT_SUPPORTED)
    check_blas(status, "cublasLtMatmulAlgoGetHeuristic", x);
  throw Error(fmt::format("cuBLASLt has no algorithm for a product {}", x.text()),
              "its heuristic found none", "Use float32, or sizes that are multiples of 8");
}

}  // namespace

// Also called before the heuristic, which looks at the alignment of these pointers.
void set_pointers(const BlasPlan& plan, const BlasProduct& x, const BlasMemory& memory) {
  if (memory.bias != nullptr) set(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory.bias, x);
  if (memory.aux != nullptr) set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, memory.aux, x);
  if (memory.left_scale == nullptr) return;
  set(plan, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(memory.left_scale), x);
  set(plan, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, static_cast<const void*>(memory.right_scale), x);
}

BlasPlan make_plan(cublasLtHandle_t library, const BlasProduct& x, const BlasMemory& memory) {
  BlasPlan plan;
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
  find_algorithms(library, plan, x);
  BlasProduct named = x;
  for (std::string& name : plan.names) {
    named.accumulate = &name == &plan.names[1];
    name = fmt::format("product {}{}", named.text(), name_of(x.epilogue));
  }
  return plan;
}

}  // namespace triax::cuda
