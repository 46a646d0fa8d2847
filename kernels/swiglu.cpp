#include "kernels/swiglu.hpp"

#include <cmath>

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/vector_math.hpp"

namespace triax {
namespace {

inline float sigmoid(float x) {
  const float e = fast_exp(-std::fabs(x));  // in [0, 1]: no overflow at either end
  return (x >= 0.0F ? 1.0F : e) / (1.0F + e);
}

// Rows of the fused (N, 2 I) matrix that belongs to rows of (N, I).
Rows<float> fused_rows(const Tensor& tensor, const Rows<float>& half, const char* name) {
  const Rows<float> rows = rows_of(tensor, name);
  check(rows.rows == half.rows && rows.columns == 2 * half.columns, "{} is {} and must be ({}, {})",
        name, tensor.shape(), half.rows, 2 * half.columns);
  return rows;
}

}  // namespace

void swiglu_forward(const Stream&, const Tensor& y, const Tensor& x) {
  const Rows<float> out = rows_of(y, "y");
  const Rows<float> in = fused_rows(x, out, "x");
  parallel_for(out.rows, [=](std::int64_t r) {
    float* to = out[r];
    const float* gate = in[r];
    const float* up = gate + out.columns;
#pragma omp simd
    for (std::int64_t c = 0; c < out.columns; ++c) to[c] = gate[c] * sigmoid(gate[c]) * up[c];
  });
}

void swiglu_backward(const Stream&, const Tensor& dx, const Tensor& y, const Tensor& dy,
                     const Tensor& x) {
  const Rows<float> out = rows_of(y, "y");
  const Rows<float> upstream = rows_like(dy, out, "dy");
  const Rows<float> in = fused_rows(x, out, "x");
  const Rows<float> gradient = fused_rows(dx, out, "dx");
  parallel_for(out.rows, [=](std::int64_t r) {
    const std::int64_t columns = out.columns;
    const float* gate = in[r];
    const float* up = gate + columns;
    const float* dout = upstream[r];
    float* dgate = gradient[r];
    float* dup = dgate + columns;
    float* to = out[r];
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) {
      const float d = dout[c];
      const float s = sigmoid(gate[c]);
      const float silu = gate[c] * s;
      dgate[c] = d * up[c] * (s + silu * (1.0F - s));
      dup[c] = d * silu;
      to[c] = silu * up[c];
    }
  });
}

}  // namespace triax
