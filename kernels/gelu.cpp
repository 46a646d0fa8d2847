#include "kernels/gelu.hpp"

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/vector_loop.hpp"
#include "kernels/base/vector_math.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/formulas.hpp"

namespace triax {
namespace {

constexpr std::int64_t block = 8192;  // elements of a parallel task

inline GeluSigmoid<FloatVector> sigmoid_of_gelu(FloatVector x) {
  const FloatVector u2 = gelu_argument(x);
  return gelu_sigmoid(u2, fast_exp_up_to_89(-magnitude(u2)));
}

}  // namespace

void gelu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  if (on_device(stream)) return cuda::gelu_forward(stream, y, x);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* out = elements_of<T>(y, x.elements(), "y");
    const T* in = elements_of<T>(x, x.elements(), "x");
    parallel_for_blocks(x.elements(), block, [=](std::int64_t begin, std::int64_t end) {
      for_vectors(begin, end, [=](std::int64_t i, auto lanes) {
        const FloatVector v = lanes.stream(in + i);
        lanes.store(out + i, v * sigmoid_of_gelu(v).value);
      });
    });
  });
}

void gelu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                   const Tensor& x) {
  if (on_device(stream)) return cuda::gelu_backward(stream, dx, y, dy, x);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* gradient = elements_of<T>(dx, x.elements(), "dx");
    T* out = elements_of<T>(y, x.elements(), "y");
    const T* upstream = elements_of<T>(dy, x.elements(), "dy");
    const T* in = elements_of<T>(x, x.elements(), "x");
    parallel_for_blocks(x.elements(), block, [=](std::int64_t begin, std::int64_t end) {
      for_vectors(begin, end, [=](std::int64_t i, auto lanes) {
        const FloatVector v = lanes.stream(in + i);
        const FloatVector d = lanes.stream(upstream + i);
        const GeluSigmoid s = sigmoid_of_gelu(v);
        lanes.store(gradient + i, d * (s.value + v * gelu_argument_slope(v) * s.derivative));
        lanes.store(out + i, v * s.value);
      });
    });
  });
}

}  // namespace triax
