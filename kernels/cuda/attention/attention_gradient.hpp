// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of the two gradient kernels (queries; keys and values) on tensor cores.
#include "kernels/cuda/attention/attention_tile.hpp"

namespace triax::cuda {

/// Inputs of both kernels. delta (B, H, T): sum over D of dout * out.
template <class T>
struct GradientOperands {
  AttentionTask task;
  Heads<T> dout, q, k, v;
  Heads<float> lse, delta;

  /// Turns score s (in units of task.unit(), -infinity where masked) into its probability and dp,
  /// the gradient of the probability, into the gradient of scale q k^T. lse2: log-sum-exp to
  /// base 2.
  template <Limits limits>
  TRIAX_DEVICE void score_gradient(float& s, float& dp, float lse2, float row_delta) const {
    // Slope of the soft cap. For a masked score it must be finite: it is multiplied by zero.
    const float slope = soft_capped(limits) ? 1.0F - fminf(s * s, 1.0F) : 1.0F;
    s = fast_exp2(s * (task.unit(limits) * log2_e) - lse2);
    dp = s * (dp - row_delta);
    if constexpr (soft_capped(limits)) dp *= slope;
  }
};

template <class T>
GradientOperands<T> gradient_operands(const AttentionTask& task, const Tensor& dout,
                                      const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& lse, const Tensor& delta) {
  return {task,           heads_of<T>(dout),  heads_of<T>(q),      heads_of<T>(k),
          heads_of<T>(v), statistics_of(lse), statistics_of(delta)};
}

/// Two tiles of rows that are loaded together, in shared memory: keys and values, or queries and
/// dout.
template <int rows, int width, int threads, class T>
struct TilePair {
  T* first;
  T* second;
  TRIAX_DEVICE explicit TilePair(T* at) : first(at), second(at + rows * width) {}
  TRIAX_DEVICE void begin(const Block& block, const HeadRows<T>& a, const HeadRows<T>& b,
                          int row) const {
    begin_rows<rows, width, threads>(block, first, a, row);
    begin_rows<rows, width, threads>(block, second, b, row);
  }
};

template <int strips, int columns>
TRIAX_DEVICE inline void scale_all(float (&x)[strips][columns][4], float factor) {
  TRIAX_UNROLL
  for (int strip = 0; strip < strips; ++strip) {
    TRIAX_UNROLL
    for (int n = 0; n < columns; ++n) {
      TRIAX_UNROLL
      for (int i = 0; i < 4; ++i) x[strip][n][i] *= factor;
    }
  }
}

/// Gradients dk and dv on tensor cores (attention_key_gradient.cu). Returns false, and does
/// nothing, for views that tensor cores do not take.
bool key_gradient(const Stream& stream, const AttentionTask& task, const Tensor& dk,
                  const Tensor& dv, const Tensor& dout, const Tensor& delta, const Tensor& lse,
                  const Tensor& q, const Tensor& k, const Tensor& v);

}  // namespace triax::cuda
