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
TEST(ReferenceAttention, FiniteDifferences) {
  const AttentionSizes n{1, 5, 2, 1, 3};
  AttentionOptions options;
  options.dropout = {.probability = 0.4F, .key = 5};
  options.total_heads = n.H;
  const AttentionPass run(n);
  Values inputs[3] = {test::to_double(run.q), test::to_double(run.k), test::to_double(run.v)};
  const Values dout = test::to_double(run.dout);
  for (const Values& keep : {Values{}, keep_of(n, options)}) {
    const auto forward = [&] {
      return reference::attention_forward(n, inputs[0], inputs[1], inputs[2], 0.7, keep);
    };
    const auto g = reference::attention_backward(n, dout, forward(), inputs[0], inputs[1],
                                                 inputs[2], 0.7, keep);
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

}  // namespace
}  // namespace triax
