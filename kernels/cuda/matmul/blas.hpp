// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products as cuBLASLt takes them. It stores matrices by columns, and a row-major matrix is
// the transpose of a column-major one, so c = a b is computed as c^T = b^T a^T. If cuBLASLt has no
// algorithm for a product with an epilogue, the product runs without, and our kernels follow.
// blas_product.cpp decides this and is tested on the host; blas.cpp calls the library.
#include <cstddef>
#include <optional>
#include <string>

#include "kernels/base/float8.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "kernels/matmul/matmul.hpp"

namespace triax::cuda {

/// A column-major operand: element (i, j) lies at i + j * stride, or at j + i * stride if it is
/// transposed.
struct BlasOperand {
  bool transposed = false;
  std::int64_t stride = 0;
  int alignment = 0;              // bytes
  std::optional<Float8> codes{};  // the fp8 format, if elements are bytes
  bool operator==(const BlasOperand&) const = default;
};

/// Operation that cuBLASLt fuses with a product. bias: one number per row of d. The gradient of a
/// bias is our own kernel: cuBLASLt's epilogues for it (BGRADA, BGRADB) slow a product on an H100
/// by more than that kernel takes (benchmarks/results/gpu/2026-11-27-h100.md).
enum class BlasEpilogue : std::uint8_t {
  none,
  bias,
  gelu,          // aux = product, d = gelu(aux)
  gelu_bias,     // gelu of product + bias
  gelu_gradient  // d = product * gelu'(aux)
};

/// d = left right, summed in float32; d += left right with `accumulate`. cuBLASLt may round the
/// sums to d's type before it adds d or a bias, and then once more. left: (rows, depth), right:
/// (depth, columns), d: (rows, columns), never transposed. A bias has d's type.
struct BlasProduct {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  BlasOperand left, right, d;
  DType type = DType::f32;    // of left and right; u8: fp8, one scale per matrix
  DType d_type = DType::f32;  // the same type, or float32
  bool accumulate = false;
  BlasEpilogue epilogue = BlasEpilogue::none;
  int bias_alignment = 0;       // bytes
  std::int64_t aux_stride = 0;  // column-major; aux has d's type
  bool operator==(const BlasProduct&) const = default;
  std::string text() const;  // row-major, for errors: "(2, 3) of bf16 by (3, 4) into f32"
};

/// Addresses of a product's matrices. The epilogue says whether `bias` and `aux` are read or
/// written.
struct BlasMemory {
  void* d = nullptr;
  const void* left = nullptr;
  const void* right = nullptr;
  void* bias = nullptr;
  void* aux = nullptr;
  const float* left_scale = nullptr;  // fp8 only: a code stands for its number times this
  const float* right_scale = nullptr;
};

/// Largest alignment (bytes) that is told to cuBLASLt. Operands that are aligned to more get the
/// same kernel, so the order of sums does not depend on their address.
inline constexpr int blas_alignment = 16;

/// An epilogue with its matrices, as matmul got them.
struct EpilogueOperands {
  BlasEpilogue epilogue = BlasEpilogue::none;
  Tensor bias = {};
  Tensor aux = {};  // GELU's input
};

/// The product c = a b or c += a b, with no empty matrix. a is the right operand and b the left
/// one.
BlasProduct blas_product(const Tensor& c, const Tensor& a, const Tensor& b, bool accumulate,
                         const EpilogueOperands& with = {});

/// fp8 operands of c = a b or c += a b: a as (M, K) and b transposed as (N, K), both contiguous.
struct CodeOperands {
  Tensor a, b_transposed;
  Float8 a_codes = Float8::e4m3, b_codes = Float8::e4m3;
};
BlasProduct code_product(const Tensor& c, const CodeOperands& codes, const MatmulOptions& options);
/// Whether cuBLASLt's rules allow the fp8 product: sizes that are multiples of 16, at least one
/// E4M3 operand, and a bias only of bfloat16 into bfloat16. The device may still have no algorithm
/// for it.
bool can_multiply_codes(const Tensor& c, std::int64_t depth, Float8 a_codes, Float8 b_codes,
                        const Tensor& bias);

/// Division of a product between calls of cuBLASLt and our own kernels, which do the rest.
struct ProductSteps {
  enum class Multiply { no, into_c, into_sums } multiply = Multiply::into_c;
  BlasEpilogue epilogue = BlasEpilogue::none;
  bool finish = false;         // a kernel adds sums, c and bias, and rounds once
  bool gelu = false;           // a kernel computes GELU or its gradient
  bool bias_gradient = false;  // a kernel computes it
  bool operator==(const ProductSteps&) const = default;
};
/// The steps for a product. fused: ask cuBLASLt for every epilogue that its rules allow. Whether it
/// has an algorithm only the machine knows; with false, it is asked for a bias at most. c: where
/// the product is written; GELU's input if there is one.
ProductSteps product_steps(const Tensor& c, const Tensor& a, const MatmulOptions& options,
                           bool fused = true);

/// Rows of c computed at a time with `into_sums`, limited by product_sums_bytes of the stream.
std::int64_t product_sums_rows(std::int64_t columns);

/// Whether cuBLASLt has an algorithm for the product of matrices at these addresses.
bool blas_has(const Stream& stream, const BlasProduct& product, const BlasMemory& memory);

/// Computes the product. Returns false, and does nothing, if cuBLASLt has no algorithm for fp8 or
/// for an epilogue beyond a bias. Other failures throw an Error that names the product and the
/// library's status. The stream keeps cuBLASLt's handle, its workspace (blas_workspace_bytes of
/// device memory) and the algorithm of each product from their first use on. The first use of a
/// large product tries several algorithms and waits for the stream (blas_trials.hpp), unless
/// TRIAX_CUBLAS_TRIALS is "off" in the environment.
bool blas_multiply(const Stream& stream, const BlasProduct& product, const BlasMemory& memory);

}  // namespace triax::cuda
