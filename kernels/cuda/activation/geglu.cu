// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/geglu.hpp"

#include "kernels/cuda/activation/gated.hpp"
#include "kernels/cuda/kernels.hpp"

namespace triax::cuda {

void geglu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  gated_forward<TanhGelu>(stream, y, x);
}

void geglu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                    const Tensor& x) {
  gated_backward<TanhGelu>(stream, dx, y, dy, x);
}

}  // namespace triax::cuda
