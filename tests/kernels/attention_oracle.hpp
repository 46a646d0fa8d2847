// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparison of an AttentionPass with the oracle.
#include "kernels/matmul/tile_gemm_bf16.hpp"
#include "tests/kernels/attention_pass.hpp"

namespace triax::test {

/// Relative error of the terms of a sum: tensor cores, and CPUs with products of bfloat16 pairs,
/// round probabilities and gradients of scores to 16 bits. lse and everything it is computed from
/// are float32.
inline double rounding_of_terms(DType dtype) {
  const bool pairs = dtype == DType::bf16 && pair_products_pay();
  return pairs || space() == MemorySpace::device ? rounding_of(dtype) : 0.0;
}

/// Every element is within `tolerance` times the largest element, plus one rounding to its type.
inline void expect_near(const Tensor& actual, const reference::Values& expected, double tolerance,
                        const char* name) {
  const reference::Values got = to_double(actual);
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0;
  for (double e : expected) largest = std::max(largest, std::fabs(e));
  const double rounding = rounding_of(actual.dtype());
  tolerance += rounding_of_terms(actual.dtype());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i],
                tolerance * std::max(largest, 1.0) + rounding * std::fabs(expected[i]))
        << name << " element " << i;
}

/// Both passes, against the oracle.
inline void expect_like_reference(AttentionPass& run) {
  const reference::AttentionSizes& n = run.n;
  SCOPED_TRACE(fmt::format("B {} T {} H {} Hkv {} D {} {} window {} soft cap {}", n.B, n.T, n.H,
                           n.Hkv, n.D, name_of(run.q.dtype()), run.options.window,
                           run.options.soft_cap));
  const reference::Values keep =
      run.options.dropout.probability > 0 ? keep_of(n, run.options) : reference::Values{};
  const reference::Values q = to_double(run.q);
  const reference::Values k = to_double(run.k);
  const reference::Values v = to_double(run.v);
  const double scale = run.options.scale;
  run.forward();
  auto result = reference::attention_forward(n, q, k, v, scale, keep, limits_of(run.options));
  expect_near(run.out, result.out, 1e-6, "out");
  expect_near(run.lse, result.lse, 1e-6, "lse");
  result.out = to_double(run.out);  // rounded, as the backward pass gets it
  run.backward();
  const auto gradients = reference::attention_backward(n, to_double(run.dout), result, q, k, v,
                                                       scale, keep, limits_of(run.options));
  expect_near(run.dq, gradients.dq, 2e-6, "dq");
  expect_near(run.dk, gradients.dk, 2e-6, "dk");
  expect_near(run.dv, gradients.dv, 2e-6, "dv");
}

}  // namespace triax::test
