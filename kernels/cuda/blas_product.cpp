#include <algorithm>

#include "kernels/cuda/blas.hpp"

namespace triax::cuda {
namespace {

int alignment_of(const Tensor& matrix) {
  const auto address = reinterpret_cast<std::uintptr_t>(matrix.data());
  int alignment = blas_alignment;
  while (address % static_cast<std::uintptr_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

// A matrix by rows, as its transpose by columns. The stride of a dimension of one element says
// nothing, and is not taken.
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
  return fmt::format("({}, {}) of {} by ({}, {}) {} {}", columns, depth, name_of(type), depth, rows,
                     accumulate ? "onto" : "into", name_of(d_type));
}

BlasProduct blas_product(const Tensor& c, const Tensor& a, const Tensor& b, bool accumulate,
                         bool bias) {
  return {.rows = c.size(1),
          .columns = c.size(0),
          .depth = a.size(1),
          .left = operand_of(b),
          .right = operand_of(a),
          .d = operand_of(c),
          .type = a.dtype(),
          .d_type = c.dtype(),
          .accumulate = accumulate,
          .bias = bias};
}

ProductSteps product_steps(const Tensor& c, std::int64_t depth, const MatmulOptions& options) {
  const bool bias = !options.bias.empty();
  if (depth == 0)
    return {.multiply = ProductSteps::Multiply::no, .finish = bias || !options.accumulate};
  if (!bias || options.bias.dtype() == c.dtype()) return {.bias_in_product = bias};
  // The sum in float32 can take its bias later; one that is rounded cannot.
  if (c.dtype() == DType::f32) return {.finish = true};
  return {.multiply = ProductSteps::Multiply::into_sums, .finish = true};
}

std::int64_t product_sums_rows(std::int64_t columns) {
  const auto rows = static_cast<std::int64_t>(product_sums_bytes / sizeof(float)) / columns;
  if (rows == 0)
    throw Error(fmt::format("a product with {} columns and a bias of float32 on a GPU", columns),
                fmt::format("a row of its sums takes more than {} bytes", product_sums_bytes),
                "Keep the bias in the type of the weights");
  return rows;
}

}  // namespace triax::cuda
