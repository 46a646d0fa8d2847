#pragma once
// Both directions of attention of bfloat16 in products of pairs
// (kernels/matmul/tile_gemm_bf16.hpp).
#include "kernels/attention/sizes.hpp"
#include "kernels/base/device/arena.hpp"

namespace triax::attention {

/// attention_forward and attention_backward, checked. False, with nothing done, where they cannot
/// go this way. (Whether it pays is for the caller: pair_products_pay.)
bool pair_forward(const Sizes& n, const Tensor& out, const Tensor& lse, const Tensor& q,
                  const Tensor& k, const Tensor& v, const AttentionOptions& options,
                  Arena& scratch);
bool pair_backward(const Sizes& n, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                   const Tensor& dout, const Tensor& out, const Tensor& lse, const Tensor& q,
                   const Tensor& k, const Tensor& v, const AttentionOptions& options,
                   Arena& scratch);

}  // namespace triax::attention
