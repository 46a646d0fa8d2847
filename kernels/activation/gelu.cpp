// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/gelu.hpp"

#include "kernels/activation/gelu_loops.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/past_caches.hpp"

namespace triax {
namespace {
constexpr std::int64_t block = 8192;  // elements per parallel task
}

void gelu_forward(const Stream& stream, const Tensor& y, const Tensor& x, Gelu kind) {
  if (on_device(stream)) return cuda::gelu_forward(stream, y, x, kind);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* out = elements_of<T>(y, x.elements(), "y");
    const T* in = elements_of<T>(x, x.elements(), "x");
    const bool past = past_caches(y, {&x});
    with_gelu(kind, [&]<class Function>(Function) {
      parallel_for_blocks(x.elements(), block, [=](std::int64_t begin, std::int64_t end) {
        Function::for_each(in, begin, end, [=](std::int64_t i, const auto& gelu, auto lanes) {
          lanes.write(out + i, gelu.value, past);
        });
      });
    });
  });
}

void gelu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                   const Tensor& x, Gelu kind) {
  if (on_device(stream)) return cuda::gelu_backward(stream, dx, y, dy, x, kind);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* gradient = elements_of<T>(dx, x.elements(), "dx");
    T* out = y.empty() ? nullptr : elements_of<T>(y, x.elements(), "y");
    const T* upstream = elements_of<T>(dy, x.elements(), "dy");
    const T* in = elements_of<T>(x, x.elements(), "x");
    const bool past = past_caches(dx, {&dy, &x});
    const bool past_y = out != nullptr && past_caches(y, {&dy, &x});
    with_gelu(kind, [&]<class Function>(Function) {
      parallel_for_blocks(x.elements(), block, [=](std::int64_t begin, std::int64_t end) {
        Function::for_each(in, begin, end, [=](std::int64_t i, const auto& gelu, auto lanes) {
          lanes.write(gradient + i, lanes.stream(upstream + i) * gelu.slope, past);
          if (out != nullptr) lanes.write(out + i, gelu.value, past_y);
        });
      });
    });
  });
}

}  // namespace triax
