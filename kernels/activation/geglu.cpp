// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/geglu.hpp"

#include "kernels/activation/gated.hpp"
#include "kernels/activation/gelu_loops.hpp"
#include "kernels/cuda/kernels.hpp"

namespace triax {

void geglu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  if (on_device(stream)) return cuda::geglu_forward(stream, y, x);
  gated_forward<TanhGelu>(y, x);
}

void geglu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                    const Tensor& x) {
  if (on_device(stream)) return cuda::geglu_backward(stream, dx, y, dy, x);
  gated_backward<TanhGelu>(dx, y, dy, x);
}

}  // namespace triax
