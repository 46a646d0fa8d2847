// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/swiglu.hpp"

#include "kernels/cuda/activation/gated.hpp"
#include "kernels/cuda/kernels.hpp"

namespace triax::cuda {

void swiglu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  gated_forward<Silu>(stream, y, x);
}

void swiglu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                     const Tensor& x) {
  gated_backward<Silu>(stream, dx, y, dy, x);
}

}  // namespace triax::cuda
