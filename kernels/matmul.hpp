#pragma once
// Matrix products by the vendor's GEMM: oneDNN on the host, cuBLASLt on a device.
#include "kernels/base/device.hpp"

namespace triax {

struct MatmulOptions {
  bool accumulate = false;  // c += a b instead of c = a b
  Tensor bias = {};         // (N), added to every row, of the type of a or float32; empty: none
};

/// c = a b. a: (M, K), b: (K, N), c: (M, N); c has unit column stride. a and b may be transposed
/// views (Tensor::transposed) or column slices: one of their two strides is 1.
/// a and b are both float32, both bfloat16 or both half precision; c is of that type or float32.
/// Sums are float32, and with bias and c (`accumulate`) rounded to the type of c once.
/// On the host: where the processor or oneDNN has no product of a 16-bit type, it is widened to
/// float32 in blocks: the same numbers up to the order of the sums, at about the speed of float32.
/// Primitives are cached by shape, strides and types, and blocks by size, a thread its own: a
/// repeated call compiles and allocates nothing (but for a few small blocks inside oneDNN). On a
/// device the same holds for the plans and the workspace (32 MiB) that a stream keeps.
void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options = {});

}  // namespace triax
