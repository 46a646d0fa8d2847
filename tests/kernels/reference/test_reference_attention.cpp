// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/attention.hpp"

#include "tests/kernels/attention_pass.hpp"

namespace triax {
namespace {

using reference::AttentionSizes;
using reference::Values;
using test::AttentionPass;
using test::keep_of;

// The oracle's gradients agree with central differences of its forward pass.
void expect_differences(const reference::AttentionLimits& limits) {
  SCOPED_TRACE(fmt::format("window {} soft cap {}", limits.window, limits.soft_cap));
  const AttentionSizes n{1, 5, 2, 1, 3};
  AttentionOptions options;
  options.dropout = {.probability = 0.4F, .key = 5};
  options.total_heads = n.H;
  const AttentionPass run(n);
  Values inputs[3] = {test::to_double(run.q), test::to_double(run.k), test::to_double(run.v)};
  const Values dout = test::to_double(run.dout);
  for (const Values& keep : {Values{}, keep_of(n, options)}) {
    const auto forward = [&] {
      return reference::attention_forward(n, inputs[0], inputs[1], inputs[2], 0.7, keep, limits);
    };
    const auto g = reference::attention_backward(n, dout, forward(), inputs[0], inputs[1],
                                                 inputs[2], 0.7, keep, limits);
    const Values* gradients[3] = {&g.dq, &g.dk, &g.dv};
    for (int input = 0; input < 3; ++input)
      for (std::size_t i = 0; i < inputs[input].size(); ++i) {
        constexpr double step = 1e-5;
        const double value = inputs[input][i];
        const auto loss = [&](double x) {
          inputs[input][i] = x;
          const Values out = forward().out;
          return reference::dot(out.data(), dout.data(), static_cast<std::int64_t>(out.size()));
        };
        const double slope = (loss(value + step) - loss(value - step)) / (2 * step);
        inputs[input][i] = value;
        EXPECT_NEAR((*gradients[input])[i], slope, 1e-8) << "input " << input << " element " << i;
      }
  }
}

TEST(ReferenceAttention, FiniteDifferences) {
  for (const std::int64_t window : {0, 1, 3})
    for (const double soft_cap : {0.0, 0.8}) {
      expect_differences({window, soft_cap});
      expect_differences({window, soft_cap, {0, 1, 0, 1, 2}});
    }
}

// Soft caps of a thousand bend nothing, and a window of one leaves the query's own value.
TEST(ReferenceAttention, Limits) {
  const AttentionSizes n{1, 4, 1, 1, 2};
  const AttentionPass run(n);
  const Values q = test::to_double(run.q), k = test::to_double(run.k), v = test::to_double(run.v);
  const auto out = [&](const reference::AttentionLimits& limits) {
    return reference::attention_forward(n, q, k, v, 0.7, {}, limits).out;
  };
  EXPECT_EQ(out({1, 0.0}), v);
  EXPECT_EQ(out({4, 0.0}), out({}));
  EXPECT_NE(out({3, 0.0}), out({}));
  EXPECT_EQ(out({0, 0.0, {0, 0, 0, 0}}), v) << "documents of one token";
  EXPECT_EQ(out({0, 0.0, {0, 1, 2, 3}}), out({}));
  test::expect_close(out({0, 1000.0}), out({}), 1e-5, "out");
  // The last of two queries whose scores are 3 and 1 before a cap of 2.
  const Values two = reference::attention_forward({1, 2, 1, 1, 1}, {0.0, 1.0}, {3.0, 1.0},
                                                  {1.0, 0.0}, 1.0, {}, {0, 2.0})
                         .out;
  const double apart = 2.0 * (std::tanh(1.5) - std::tanh(0.5));
  EXPECT_NEAR(two[1], 1.0 / (1.0 + std::exp(-apart)), 1e-12);
}

}  // namespace
}  // namespace triax
