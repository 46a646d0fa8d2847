#pragma once
// Matrix products by the vendor's GEMM (oneDNN on the host).
#include "kernels/base/device.hpp"

namespace triax {

struct MatmulOptions {
  bool accumulate = false;  // c += a b instead of c = a b
  Tensor bias = {};         // (N), added to every row; empty: none
};

/// c = a b. a: (M, K), b: (K, N), c: (M, N), float32; c has unit column stride. a and b may be
/// transposed views (Tensor::transposed) or column slices: one of their two strides is 1.
/// Primitives are cached by shape and strides, a thread its own: a repeated call compiles and
/// allocates nothing (but for a few small blocks inside oneDNN).
void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options = {});

}  // namespace triax
