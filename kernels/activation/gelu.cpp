// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/gelu.hpp"

#include <type_traits>

#include "kernels/activation/coarse_gelu.hpp"
#include "kernels/activation/gelu_formula.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/past_caches.hpp"

namespace triax {
namespace {
constexpr std::int64_t block = 8192;  // elements per parallel task
}

void gelu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  if (on_device(stream)) return cuda::gelu_forward(stream, y, x);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* out = elements_of<T>(y, x.elements(), "y");
    const T* in = elements_of<T>(x, x.elements(), "x");
    const bool past = past_caches(y, {&x});
    parallel_for_blocks(x.elements(), block, [=](std::int64_t begin, std::int64_t end) {
      if constexpr (!std::is_same_v<T, float>)
        for_coarse_gelus(
            begin, end, [=](std::int64_t i, auto lanes) { return lanes.stream(in + i); },
            [=](std::int64_t i, const auto& gelu, auto lanes) {
              lanes.write(out + i, gelu.value, past);
            });
      else
        for_vectors(begin, end, [=](std::int64_t i, auto lanes) {
          const FloatVector v = lanes.stream(in + i);
          lanes.write(out + i, v * gelu_sigmoid(exp_of_minus(gelu_argument(v))).value, past);
        });
    });
  });
}

void gelu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                   const Tensor& x) {
  if (on_device(stream)) return cuda::gelu_backward(stream, dx, y, dy, x);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* gradient = elements_of<T>(dx, x.elements(), "dx");
    T* out = y.empty() ? nullptr : elements_of<T>(y, x.elements(), "y");
    const T* upstream = elements_of<T>(dy, x.elements(), "dy");
    const T* in = elements_of<T>(x, x.elements(), "x");
    const bool past = past_caches(dx, {&dy, &x});
    const bool past_y = out != nullptr && past_caches(y, {&dy, &x});
    parallel_for_blocks(x.elements(), block, [=](std::int64_t begin, std::int64_t end) {
      if constexpr (!std::is_same_v<T, float>)
        for_coarse_gelus(
            begin, end, [=](std::int64_t i, auto lanes) { return lanes.stream(in + i); },
            [=](std::int64_t i, const auto& gelu, auto lanes) {
              lanes.write(gradient + i, lanes.stream(upstream + i) * gelu.slope, past);
              if (out != nullptr) lanes.write(out + i, gelu.value, past_y);
            });
      else
        for_vectors(begin, end, [=](std::int64_t i, auto lanes) {
          const FloatVector v = lanes.stream(in + i);
          const FloatVector d = lanes.stream(upstream + i);
          const GeluSigmoid s = gelu_sigmoid(exp_of_minus(gelu_argument(v)));
          const FloatVector slope = multiply_add(v * gelu_argument_slope(v), s.derivative, s.value);
          lanes.write(gradient + i, d * slope, past);
          if (out != nullptr) lanes.write(out + i, v * s.value, past_y);
        });
    });
  });
}

}  // namespace triax
