// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products by the vendor's GEMM: oneDNN on the host, cuBLASLt on a device. A product's bias,
// its GELU or GELU's gradient, and a bias gradient are part of the same call: fused where the
// vendor can, else computed after the product.
#include "kernels/base/device/arena.hpp"

namespace triax {

/// Output of GELU's backward pass next to the product (kernels/activation/gelu.hpp).
struct GeluGradient {
  Tensor input;   // (M, N), read: the input of GELU in the forward pass
  Tensor output;  // (M, N), written: gelu(input) recomputed; not `input`. Empty: not computed
};

/// Gradient of a bias: sums over K of the operand that is dy.
struct BiasGradient {
  Tensor sums;  // float32 or the type of a; empty: none
  enum class Of : std::uint8_t {
    a,  // sums: (M), over the rows of a (M, K)
    b   // sums: (N), over the columns of b (K, N)
  } of = Of::b;
  bool accumulate = false;   // adds to the contents of `sums`
  Arena* scratch = nullptr;  // bias_backward_scratch_bytes(K, size of `sums`) bytes
};

struct MatmulOptions {
  bool accumulate = false;  // c += a b instead of c = a b
  Tensor bias = {};         // (N), added to every row; type of a or float32; empty: none
  /// (M, N), written: a b + bias; c is then the GELU of it. Empty: none.
  Tensor gelu_input = {};
  /// c = (a b) gelu'(input), elementwise. Empty: none.
  GeluGradient gelu_gradient = {};
  BiasGradient bias_gradient = {};
};

/// c = a b. a: (M, K), b: (K, N), c: (M, N); c has unit column stride. a and b may be transposed
/// views (Tensor::transposed) or column slices: one of their two strides is 1.
/// a and b are both float32, both bfloat16 or both half precision; c has that type or float32.
/// Sums, including bias and c (`accumulate`), are float32 and rounded to the type of c once.
/// GELU and its gradient require contiguous matrices of one type and no `accumulate`, the gradient
/// also no bias. They apply to the rounded product, or to its float32 sums where the GEMM fuses
/// them; the results differ by that rounding.
/// On the host, 16-bit types for which the processor or oneDNN has no good product are widened to
/// float32 tile by tile: the same numbers up to the order of the sums, at about the speed of
/// float32. oneDNN on some processors divides a sum over threads: results depend on shape,
/// processor and number of threads.
/// Primitives are cached by shape, strides and types, and tile memory by size, per thread: a
/// repeated call compiles and allocates nothing, except a few small pieces inside oneDNN. On a
/// device the same holds for the plans and the workspace (32 MiB) that a stream keeps.
void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options = {});

/// Host memory in bytes that a thread keeps for widened tiles, when it multiplies matrices of
/// `type` none of whose dimensions exceeds `longest`.
std::int64_t matmul_block_bytes(DType type, std::int64_t longest);

}  // namespace triax
