// SPDX-License-Identifier: Apache-2.0
// A BLAS for the emulated device: the products of blas.hpp as plain loops on the host.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/activation/gelu_formula.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/matmul/blas.hpp"
#include "tests/support/emulator/emulated_device.hpp"

namespace triax::cuda {
namespace {

std::size_t place(const BlasOperand& operand, std::int64_t i, std::int64_t j) {
  return static_cast<std::size_t>(operand.transposed ? j + i * operand.stride
                                                     : i + j * operand.stride);
}

// cuBLASLt's rules for the stride of a column-major matrix.
void check_stride(const BlasOperand& operand, std::int64_t rows, std::int64_t columns) {
  const std::int64_t stored = operand.transposed ? columns : rows;
  check(operand.stride >= stored && stored >= 1, "a matrix with columns of {}, {} apart", stored,
        operand.stride);
}

float sigmoid(float x) {
  return gelu_sigmoid(std::exp(-gelu_argument(x))).value;
}

float gelu_derivative(float x) {
  const GeluSigmoid s = gelu_sigmoid(std::exp(-gelu_argument(x)));
  return s.value + x * gelu_argument_slope(x) * s.derivative;
}

// Rounds an element of the product into d.
template <class D>
float finished(const BlasProduct& x, float sum, const D* bias, D* aux) {
  switch (x.epilogue) {
    case BlasEpilogue::bias:
      return sum + *bias;
    case BlasEpilogue::gelu_bias:
      sum += *bias;
      [[fallthrough]];
    case BlasEpilogue::gelu:
      *aux = D(sum);
      return sum * sigmoid(sum);
    case BlasEpilogue::gelu_gradient:
      return sum * gelu_derivative(*aux);
    default:
      return sum;
  }
}

// Values of fp8 codes, without their scale.
std::vector<float> decoded(const BlasOperand& operand, const void* memory, std::int64_t rows,
                           std::int64_t columns) {
  const auto* codes = static_cast<const std::uint8_t*>(memory);
  std::vector<float> values(place(operand, rows - 1, columns - 1) + 1);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::size_t at = place(operand, i, j);
      values[at] = decode(*operand.codes, codes[at]);
    }
  return values;
}

template <class T, class D>
void multiply(const BlasProduct& x, D* d, const T* left, const T* right, const D* bias, D* aux,
              float scale = 1.0F) {
  std::vector<float> column(static_cast<std::size_t>(x.rows));
  for (std::int64_t j = 0; j < x.columns; ++j) {
    std::fill(column.begin(), column.end(), 0.0F);
    for (std::int64_t k = 0; k < x.depth; ++k) {
      const float factor = right[place(x.right, k, j)];
      for (std::int64_t i = 0; i < x.rows; ++i)
        column[static_cast<std::size_t>(i)] += left[place(x.left, i, k)] * factor;
    }
    for (std::int64_t i = 0; i < x.rows; ++i) {
      D& to = d[place(x.d, i, j)];
      float sum = column[static_cast<std::size_t>(i)] * scale;
      if (x.accumulate) sum += to;
      to = D(finished(x, sum, bias + i, aux + (i + j * x.aux_stride)));
    }
  }
}

bool has_bias(BlasEpilogue epilogue) {
  return epilogue == BlasEpilogue::bias || epilogue == BlasEpilogue::gelu_bias;
}

bool has_aux(BlasEpilogue epilogue) {
  return epilogue == BlasEpilogue::gelu || epilogue == BlasEpilogue::gelu_bias ||
         epilogue == BlasEpilogue::gelu_gradient;
}

// cuBLASLt's rules for an epilogue.
void check_epilogue(const BlasProduct& x, const BlasMemory& memory) {
  check((memory.bias != nullptr) == has_bias(x.epilogue), "a bias that {} knows nothing of",
        x.text());
  check((memory.aux != nullptr) == has_aux(x.epilogue), "an aux that {} knows nothing of",
        x.text());
  if (!has_aux(x.epilogue)) return;
  check(x.aux_stride % 8 == 0 && x.aux_stride >= x.rows, "an aux with columns {} apart",
        x.aux_stride);
  check(reinterpret_cast<std::uintptr_t>(memory.aux) % 16 == 0 && !x.accumulate &&
            x.d_type != DType::f32,
        "an aux that cuBLASLt refuses");
}

// cuBLASLt's rules for fp8.
void check_codes(const BlasProduct& x, const BlasMemory& memory) {
  check(x.left.codes.has_value() == (x.type == DType::u8) &&
            x.right.codes.has_value() == (x.type == DType::u8),
        "codes of unknown format in {}", x.text());
  if (x.type != DType::u8) return;
  check(x.left.transposed && !x.right.transposed, "codes that do not lie along the depth");
  check(x.rows % 16 == 0 && x.columns % 16 == 0 && x.depth % 16 == 0 && x.left.stride % 16 == 0 &&
            x.right.stride % 16 == 0 && x.d.stride % 8 == 0,
        "codes in {}, no multiples of 16", x.text());
  check(*x.left.codes == Float8::e4m3 || *x.right.codes == Float8::e4m3, "E5M2 by E5M2");
  check(x.left.alignment == 16 && x.right.alignment == 16 && x.d.alignment == 16,
        "codes that are not aligned");
  // Measured on an H100 with cuBLASLt 13.1: the heuristic accepts any alignment of the scales, the
  // product does not.
  for (const float* scale : {memory.left_scale, memory.right_scale})
    check(scale != nullptr && reinterpret_cast<std::uintptr_t>(scale) % 16 == 0,
          "a scale of codes at {}: cuBLASLt takes those aligned to 16 bytes",
          static_cast<const void*>(scale));
  check(x.d_type != DType::f16 && x.epilogue <= BlasEpilogue::bias &&
            (x.epilogue == BlasEpilogue::none || x.d_type == DType::bf16),
        "codes with what cuBLASLt does not do");
}

void check_product(const BlasProduct& product, const BlasMemory& memory) {
  check_stride(product.left, product.rows, product.depth);
  check_stride(product.right, product.depth, product.columns);
  check_stride(product.d, product.rows, product.columns);
  check(!product.d.transposed && product.depth >= 1, "a product {}", product.text());
  check_epilogue(product, memory);
  check_codes(product, memory);
}

template <class D>
void multiply_codes(const BlasProduct& x, const BlasMemory& memory) {
  const auto left = decoded(x.left, memory.left, x.rows, x.depth);
  const auto right = decoded(x.right, memory.right, x.depth, x.columns);
  multiply(x, static_cast<D*>(memory.d), left.data(), right.data(),
           static_cast<const D*>(memory.bias), static_cast<D*>(memory.aux),
           *memory.left_scale * *memory.right_scale);
}

template <class T, class D>
void multiply_matrices(const BlasProduct& x, const BlasMemory& memory) {
  const auto* left = static_cast<const T*>(memory.left);
  const auto* right = static_cast<const T*>(memory.right);
  multiply(x, static_cast<D*>(memory.d), left, right, static_cast<const D*>(memory.bias),
           static_cast<D*>(memory.aux));
}

}  // namespace

// A third of the shapes have no algorithm for fp8 or for an epilogue beyond a bias, so that tests
// cover both branches.
bool blas_has(const Stream&, const BlasProduct& product, const BlasMemory& memory) {
  check_product(product, memory);
  const bool special = product.epilogue > BlasEpilogue::bias || product.type == DType::u8;
  return !special || (product.rows + product.depth) % 3 != 0;
}

bool blas_multiply(const Stream& stream, const BlasProduct& product, const BlasMemory& memory) {
  if (!blas_has(stream, product, memory)) return false;
  emulator::enqueue(stream, [=] {
    if (product.type == DType::u8)
      return product.d_type == DType::f32 ? multiply_codes<float>(product, memory)
                                          : multiply_codes<Bf16>(product, memory);
    with_types(product.type, product.d_type, [&]<class T, class D>(Type<T>, Type<D>) {
      multiply_matrices<T, D>(product, memory);
    });
  });
  return true;
}

}  // namespace triax::cuda
