#include "kernels/gelu.hpp"

#include <cmath>

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/vector_math.hpp"
#include "kernels/base/with_type.hpp"

namespace triax {
namespace {

constexpr std::int64_t block = 8192;          // elements of a parallel task
constexpr float slope = 0.7978845608028654F;  // sqrt(2 / pi)
constexpr float cubic = 0.044715F;

// 0.5 x (1 + tanh u) with u = slope (x + cubic x^3) is x sigmoid(2 u): one exponential, and no
// cancellation where x is negative.
struct Sigmoid {
  float value;
  float derivative;
};

inline Sigmoid sigmoid_of_gelu(float x) {
  const float u = slope * (x + cubic * x * x * x);
  const float e = fast_exp(-2.0F * std::fabs(u));  // in [0, 1]: no overflow at either end
  const float inverse = 1.0F / (1.0F + e);
  return {u >= 0.0F ? inverse : e * inverse, e * inverse * inverse};
}

}  // namespace

void gelu_forward(const Stream&, const Tensor& y, const Tensor& x) {
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* out = elements_of<T>(y, x.elements(), "y");
    const T* in = elements_of<T>(x, x.elements(), "x");
    parallel_for_blocks(x.elements(), block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        const float v = in[i];
        out[i] = v * sigmoid_of_gelu(v).value;
      }
    });
  });
}

void gelu_backward(const Stream&, const Tensor& dx, const Tensor& y, const Tensor& dy,
                   const Tensor& x) {
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* gradient = elements_of<T>(dx, x.elements(), "dx");
    T* out = elements_of<T>(y, x.elements(), "y");
    const T* upstream = elements_of<T>(dy, x.elements(), "dy");
    const T* in = elements_of<T>(x, x.elements(), "x");
    parallel_for_blocks(x.elements(), block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        const float v = in[i];
        const Sigmoid s = sigmoid_of_gelu(v);
        const float du = 2.0F * slope * (1.0F + 3.0F * cubic * v * v);
        gradient[i] = upstream[i] * (s.value + v * du * s.derivative);
        out[i] = v * s.value;
      }
    });
  });
}

}  // namespace triax
