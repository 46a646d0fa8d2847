// SPDX-License-Identifier: Apache-2.0
#pragma once
// Both directions of attention of bfloat16 by products of pairs
// (kernels/matmul/tile_gemm_bf16.hpp).
#include "kernels/attention/sizes.hpp"
#include "kernels/base/device/arena.hpp"

namespace triax::attention {

/// attention_forward and attention_backward for checked arguments. Return false without doing
/// anything if the heads cannot be read as pairs or the code in use has no pair products. The
/// caller decides whether they pay (pair_products_pay).
bool pair_forward(const Sizes& n, const Tensor& out, const Tensor& lse, const Tensor& q,
                  const Tensor& k, const Tensor& v, const AttentionOptions& options,
                  Arena& scratch);
bool pair_backward(const Sizes& n, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                   const Tensor& dout, const Tensor& out, const Tensor& lse, const Tensor& q,
                   const Tensor& k, const Tensor& v, const AttentionOptions& options,
                   Arena& scratch);

}  // namespace triax::attention
