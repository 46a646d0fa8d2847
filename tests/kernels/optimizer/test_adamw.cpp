// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adamw.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reference/adamw.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

struct State {
  explicit State(std::int64_t n)
      : parameter(test::random_values(n, 1)),
        m(static_cast<std::size_t>(n), 0.0F),
        v(static_cast<std::size_t>(n), 0.0F) {}
  void update(const Tensor& gradient, const Tensor& weights, const AdamWOptions& options,
              float factor = 1.0F) {
    const Shape shape = {static_cast<std::int64_t>(parameter.size())};
    test::run(adamw, Tensor(parameter.data(), shape), weights, gradient, Tensor(&factor, {1}),
              Tensor(m.data(), shape), Tensor(v.data(), shape), options);
  }
  void update(std::vector<float>& gradient, const AdamWOptions& options) {
    update(Tensor(gradient.data(), {static_cast<std::int64_t>(gradient.size())}), {}, options);
  }
  std::vector<float> parameter, m, v;
};

// Types of gradient and weights. Float32 weights are the parameter itself.
class AdamW : public testing::TestWithParam<std::tuple<DType, DType, std::int64_t>> {};

TEST_P(AdamW, FiveStepsAgreeWithReference) {
  const auto [gradient_type, weight_type, n] = GetParam();
  const bool copies = weight_type != DType::f32;
  State state(n);
  test::Array weights(weight_type, n);
  reference::AdamWState expected{test::widen(state.parameter), test::widen(state.m),
                                 test::widen(state.v)};
  constexpr float factor = 0.37F;
  AdamWOptions options{.learning_rate = 6e-4, .beta2 = 0.95, .weight_decay = 0.1};
  for (options.step = 1; options.step <= 5; ++options.step) {
    test::Array gradient =
        test::Array::random(gradient_type, n, static_cast<unsigned>(10 + options.step));
    state.update(gradient.tensor(), copies ? weights.tensor() : Tensor{}, options, factor);
    reference::adamw(expected, gradient.doubles(), factor, options);
  }
  test::expect_close(state.parameter, expected.parameter, 5e-7, "parameter");
  test::expect_close(state.m, expected.m, 1e-6, "m");
  test::expect_close(state.v, expected.v, 1e-6, "v");
  if (copies) {
    EXPECT_EQ(weights, test::Array(weight_type, state.parameter));
  }
}

TEST_P(AdamW, ClipsEachElementAfterTheFactor) {
  const auto [gradient_type, weight_type, n] = GetParam();
  const bool copies = weight_type != DType::f32;
  State state(n);
  test::Array weights(weight_type, n);
  reference::AdamWState expected{test::widen(state.parameter), test::widen(state.m),
                                 test::widen(state.v)};
  constexpr float factor = 0.5F;
  AdamWOptions options{.beta2 = 0.95, .weight_decay = 0.1, .clip_value = 0.125};
  int clipped = 0;
  for (options.step = 1; options.step <= 3; ++options.step) {
    test::Array gradient =
        test::Array::random(gradient_type, n, static_cast<unsigned>(20 + options.step));
    state.update(gradient.tensor(), copies ? weights.tensor() : Tensor{}, options, factor);
    reference::adamw(expected, gradient.doubles(), factor, options);
    for (const double g : gradient.doubles()) clipped += std::abs(factor * g) > 0.125 ? 1 : 0;
  }
  if (n > 1) {
    EXPECT_GT(clipped, 0);
    EXPECT_LT(clipped, 3 * n);
  }
  test::expect_close(state.parameter, expected.parameter, 5e-7, "parameter");
  test::expect_close(state.m, expected.m, 1e-6, "m");
  test::expect_close(state.v, expected.v, 1e-6, "v");
}

// Adam: the decay is part of the gradient.
TEST_P(AdamW, FiftyStepsOfAdamAgreeWithReference) {
  const auto [gradient_type, weight_type, n] = GetParam();
  const bool copies = weight_type != DType::f32;
  State state(n);
  test::Array weights(weight_type, n);
  reference::AdamWState expected{test::widen(state.parameter), test::widen(state.m),
                                 test::widen(state.v)};
  constexpr float factor = 0.37F;
  AdamWOptions options{.learning_rate = 6e-4, .weight_decay = 0.1, .decoupled = false};
  for (options.step = 1; options.step <= 50; ++options.step) {
    test::Array gradient =
        test::Array::random(gradient_type, n, static_cast<unsigned>(10 + options.step));
    state.update(gradient.tensor(), copies ? weights.tensor() : Tensor{}, options, factor);
    reference::adamw(expected, gradient.doubles(), factor, options);
  }
  test::expect_close(state.parameter, expected.parameter, 2e-6, "parameter");
  test::expect_close(state.m, expected.m, 2e-6, "m");
  test::expect_close(state.v, expected.v, 2e-6, "v");
  if (copies) {
    EXPECT_EQ(weights, test::Array(weight_type, state.parameter));
  }
}

TEST_P(AdamW, AFactorThatIsNotANumberChangesNothing) {
  const auto [gradient_type, weight_type, n] = GetParam();
  const bool copies = weight_type != DType::f32;
  State state(n);
  test::Array gradient = test::Array::random(gradient_type, n, 2);
  test::Array weights(weight_type, n);
  const auto update = [&](float factor) {
    state.update(gradient.tensor(), copies ? weights.tensor() : Tensor{}, {.weight_decay = 0.1},
                 factor);
  };
  update(1.0F);
  const State before = state;
  const test::Array weights_before = weights;
  update(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(state.parameter, before.parameter);
  EXPECT_EQ(state.m, before.m);
  EXPECT_EQ(state.v, before.v);
  EXPECT_EQ(weights, weights_before);
  update(1.0F);
  EXPECT_NE(state.parameter, before.parameter);
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, AdamW,
                         testing::Combine(test::every_type(), test::every_type(),
                                          testing::Values(1, 37, 10007)));

TEST(AdamW, RefusesACopyInFloat) {
  State state(3);
  std::vector<float> gradient(3), weights(3);
  EXPECT_THROW(
      state.update(Tensor(gradient.data(), {3}), Tensor(weights.data(), {3}), AdamWOptions{}),
      Error);
}

TEST(AdamW, ZeroGradientOnlyDecays) {
  State state(3);
  const std::vector<float> before = state.parameter;
  std::vector<float> gradient(3, 0.0F);
  state.update(gradient, {.learning_rate = 0.5, .weight_decay = 0.5});
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_FLOAT_EQ(state.parameter[i], 0.75F * before[i]);
}

TEST(AdamW, FirstStepIsTheLearningRateAgainstTheSign) {
  State state(2);
  const std::vector<float> before = state.parameter;
  std::vector<float> gradient = {1e-3F, -7.0F};
  state.update(gradient, {.learning_rate = 0.01});
  EXPECT_NEAR(state.parameter[0] - before[0], -0.01, 1e-6);
  EXPECT_NEAR(state.parameter[1] - before[1], 0.01, 1e-6);
  EXPECT_FLOAT_EQ(state.v[1], 0.001F * 49.0F);
}

TEST(AdamW, RefusesStepZero) {
  State state(1);
  std::vector<float> gradient(1);
  EXPECT_THROW(state.update(gradient, {.step = 0}), Error);
}

}  // namespace
}  // namespace triax
