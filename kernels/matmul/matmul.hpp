#pragma once
// Matrix products by the vendor's GEMM: oneDNN on the host, cuBLASLt on a device.
#include "kernels/base/device/arena.hpp"

namespace triax {

/// What the backward pass of GELU makes beside its product (kernels/activation/gelu.hpp).
struct GeluGradient {
  Tensor input;   // (M, N), read: the input of GELU in the forward pass
  Tensor output;  // (M, N), written: gelu(input) again; not `input`. Empty: it is not made
};

/// The gradient of a bias: sums over K of one of the operands, which is dy.
struct BiasGradient {
  Tensor sums;  // float32 or of the type of a; empty: none
  enum class Of : std::uint8_t {
    a,  // sums: (M), of the rows of a (M, K)
    b   // sums: (N), of the columns of b (K, N)
  } of = Of::b;
  bool accumulate = false;   // added to what `sums` holds
  Arena* scratch = nullptr;  // bias_backward_scratch_bytes(K, size of `sums`)
};

struct MatmulOptions {
  bool accumulate = false;  // c += a b instead of c = a b
  Tensor bias = {};         // (N), added to every row, of the type of a or float32; empty: none
  /// (M, N), written: a b + bias; c is then its GELU. Empty: none.
  Tensor gelu_input = {};
  /// c = (a b) gelu'(input), elementwise. Empty: none.
  GeluGradient gelu_gradient = {};
  BiasGradient bias_gradient = {};
};

/// c = a b. a: (M, K), b: (K, N), c: (M, N); c has unit column stride. a and b may be transposed
/// views (Tensor::transposed) or column slices: one of their two strides is 1.
/// a and b are both float32, both bfloat16 or both half precision; c is of that type or float32.
/// Sums are float32, and with bias and c (`accumulate`) rounded to the type of c once.
/// GELU and its gradient are for contiguous matrices of one type, without `accumulate`, and the
/// gradient without bias. They are of the product as it is rounded, or of its float32 sums where
/// the GEMM makes them on its way: the same but for that rounding.
/// On the host: where the processor or oneDNN has no product of a 16-bit type, it is widened to
/// float32 in blocks: the same numbers up to the order of the sums, at about the speed of float32.
/// Primitives are cached by shape, strides and types, and blocks by size, a thread its own: a
/// repeated call compiles and allocates nothing (but for a few small blocks inside oneDNN). On a
/// device the same holds for the plans and the workspace (32 MiB) that a stream keeps.
void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options = {});

/// Host memory that the thread which multiplies matrices of `type`, none longer than `longest`,
/// keeps for blocks that are widened.
std::int64_t matmul_block_bytes(DType type, std::int64_t longest);

}  // namespace triax
