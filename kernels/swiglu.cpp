#include "kernels/swiglu.hpp"

#include <cmath>

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/vector_math.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/formulas.hpp"

namespace triax {
namespace {

inline float sigmoid(float x) {
  return sigmoid_from(x, fast_exp(-std::fabs(x)));
}

// Rows of the fused (N, 2 I) matrix that belongs to rows of (N, I).
template <class T>
Rows<T> fused_rows(const Tensor& tensor, const Rows<T>& half, const char* name) {
  const Rows<T> rows = rows_of<T>(tensor, name);
  check(rows.rows == half.rows && rows.columns == 2 * half.columns, "{} is {} and must be ({}, {})",
        name, tensor.shape(), half.rows, 2 * half.columns);
  return rows;
}

}  // namespace

void swiglu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  if (on_device(stream)) return cuda::swiglu_forward(stream, y, x);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> in = fused_rows(x, out, "x");
    parallel_for(out.rows, [=](std::int64_t r) {
      T* to = out[r];
      const T* gates = in[r];
      const T* ups = gates + out.columns;
#pragma omp simd
      for (std::int64_t c = 0; c < out.columns; ++c) {
        const float gate = gates[c];
        to[c] = gate * sigmoid(gate) * ups[c];
      }
    });
  });
}

void swiglu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                     const Tensor& x) {
  if (on_device(stream)) return cuda::swiglu_backward(stream, dx, y, dy, x);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> upstream = rows_like(dy, out, "dy");
    const Rows<T> in = fused_rows(x, out, "x");
    const Rows<T> gradient = fused_rows(dx, out, "dx");
    parallel_for(out.rows, [=](std::int64_t r) {
      const std::int64_t columns = out.columns;
      const T* gates = in[r];
      const T* ups = gates + columns;
      const T* dout = upstream[r];
      T* dgate = gradient[r];
      T* dup = dgate + columns;
      T* to = out[r];
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) {
        const float d = dout[c];
        const float gate = gates[c];
        const float up = ups[c];
        const float s = sigmoid(gate);
        const float silu = gate * s;
        dgate[c] = d * up * (s + silu * (1.0F - s));
        dup[c] = d * silu;
        to[c] = silu * up;
      }
    });
  });
}

}  // namespace triax
