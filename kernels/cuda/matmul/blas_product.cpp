// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/matmul/blas.hpp"

namespace triax::cuda {
namespace {

int alignment_of(const Tensor& matrix) {
  const auto address = reinterpret_cast<std::uintptr_t>(matrix.data());
  int alignment = blas_alignment;
  while (address % static_cast<std::uintptr_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

// A row-major matrix as its column-major transpose. The stride of a dimension of size 1 is
// meaningless and ignored.
BlasOperand operand_of(const Tensor& matrix) {
  const std::int64_t rows = matrix.size(0);
  const std::int64_t columns = matrix.size(1);
  const int alignment = alignment_of(matrix);
  if (columns == 1 || matrix.stride(1) == 1)
    return {false, rows == 1 ? columns : matrix.stride(0), alignment};
  return {true, matrix.stride(1), alignment};
}

}  // namespace

std::string BlasProduct::text() const {
  return fmt::format("({}, {}) of {} by ({}, {}) {} {}", columns, depth,
                     type == DType::u8 ? "fp8" : name_of(type), depth, rows,
                     accumulate ? "onto" : "into", name_of(d_type));
}

BlasProduct blas_product(const Tensor& c, const Tensor& a, const Tensor& b, bool accumulate,
                         const EpilogueOperands& with) {
  return {.rows = c.size(1),
          .columns = c.size(0),
          .depth = a.size(1),
          .left = operand_of(b),
          .right = operand_of(a),
          .d = operand_of(c),
          .type = a.dtype(),
          .d_type = c.dtype(),
          .accumulate = accumulate,
          .epilogue = with.epilogue,
          .bias_alignment = with.bias.empty() ? 0 : alignment_of(with.bias),
          .aux_stride = with.aux.empty() ? 0 : operand_of(with.aux).stride};
}

bool can_multiply_codes(const Tensor& c, std::int64_t depth, Float8 a_codes, Float8 b_codes,
                        const Tensor& bias) {
  constexpr std::int64_t step = 16;  // elements: 16 bytes of codes
  const bool sizes = c.size(0) % step == 0 && c.size(1) % step == 0 && depth % step == 0 &&
                     c.elements() > 0 && depth > 0;
  const bool rows = alignment_of(c) == blas_alignment && operand_of(c).stride % step == 0;
  const bool types = c.dtype() == DType::f32 || c.dtype() == DType::bf16;
  const bool codes = a_codes == Float8::e4m3 || b_codes == Float8::e4m3;
  const bool with = bias.empty() || (c.dtype() == DType::bf16 && bias.dtype() == DType::bf16);
  return sizes && rows && types && codes && with;
}

BlasProduct code_product(const Tensor& c, const CodeOperands& codes, const MatmulOptions& options) {
  const BlasEpilogue epilogue = options.bias.empty() ? BlasEpilogue::none : BlasEpilogue::bias;
  BlasProduct product = blas_product(c, codes.a, codes.b_transposed.transposed(),
                                     options.accumulate, {epilogue, options.bias});
  product.left.codes = codes.b_codes;
  product.right.codes = codes.a_codes;
  return product;
}

namespace {

// cuBLASLt's rules for the aux matrix; they do not allow float32.
bool can_be_aux(const Tensor& matrix) {
  return matrix.dtype() != DType::f32 && alignment_of(matrix) == blas_alignment &&
         operand_of(matrix).stride % 8 == 0;
}

// Steps of a product with a bias.
ProductSteps bias_steps(const Tensor& c, std::int64_t depth, const MatmulOptions& options) {
  const bool bias = !options.bias.empty();
  if (depth == 0)
    return {.multiply = ProductSteps::Multiply::no, .finish = bias || !options.accumulate};
  if (!bias) return {};
  if (options.bias.dtype() == c.dtype()) return {.epilogue = BlasEpilogue::bias};
  // A float32 sum can take its bias later; a sum rounded to 16 bits cannot.
  if (c.dtype() == DType::f32) return {.finish = true};
  return {.multiply = ProductSteps::Multiply::into_sums, .finish = true};
}

}  // namespace

ProductSteps product_steps(const Tensor& c, const Tensor& a, const MatmulOptions& options,
                           bool fused) {
  const GeluGradient& gradient = options.gelu_gradient;
  ProductSteps steps = bias_steps(c, a.size(1), options);
  steps.gelu = !options.gelu_input.empty() || !gradient.input.empty();
  steps.bias_gradient = !options.bias_gradient.sums.empty();
  if (!fused || steps.multiply != ProductSteps::Multiply::into_c || steps.finish) return steps;
  if (!options.gelu_input.empty() && can_be_aux(options.gelu_input)) {
    steps.epilogue = options.bias.empty() ? BlasEpilogue::gelu : BlasEpilogue::gelu_bias;
    steps.gelu = false;
  } else if (!gradient.input.empty() && can_be_aux(gradient.input)) {
    steps.epilogue = BlasEpilogue::gelu_gradient;
    steps.gelu = false;
  }
  return steps;
}

std::int64_t product_sums_rows(std::int64_t columns) {
  const auto rows = static_cast<std::int64_t>(product_sums_bytes / sizeof(float)) / columns;
  if (rows == 0)
    throw Error(
        fmt::format("a product with {} columns and a float32 bias is too wide for a GPU", columns),
        fmt::format("one row of its float32 sums exceeds {} bytes", product_sums_bytes),
        "Keep the bias in the type of the weights");
  return rows;
}

}  // namespace triax::cuda
