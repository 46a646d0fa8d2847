// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adan.hpp"

#include "kernels/reference/adan.hpp"
#include "tests/kernels/optimizer/stepped_state.hpp"

namespace triax {
namespace {

struct State {
  explicit State(DType weight_type, std::int64_t n)
      : parameter(test::random_values(n, 1)),
        m(static_cast<std::size_t>(n)),
        u(m),
        v(m),
        before(m),
        weights(weight_type, n) {}
  void update(test::Array& gradient, float factor, const AdanOptions& options) {
    const auto view = [](std::vector<float>& values) {
      return Tensor(values.data(), {static_cast<std::int64_t>(values.size())});
    };
    test::run(adan, view(parameter), weights.dtype() == DType::f32 ? Tensor{} : weights.tensor(),
              gradient.tensor(), Tensor(&factor, {1}), view(m), view(u), view(v), view(before),
              options);
  }
  std::vector<float> parameter, m, u, v, before;
  test::Array weights;
};

class Adan : public testing::TestWithParam<test::TypesAndSize> {};

TEST_P(Adan, FiftyStepsAgreeWithReference) {
  const auto [gradient_type, weight_type, n] = GetParam();
  for (const bool proximal : {true, false}) {
    State state(weight_type, n);
    reference::AdanState expected{test::widen(state.parameter), test::widen(state.m),
                                  test::widen(state.u), test::widen(state.v),
                                  test::widen(state.before)};
    AdanOptions options{.weight_decay = 0.1, .proximal = proximal, .clip_value = 0.5};
    for (unsigned step = 1; step <= 50; ++step) {
      options.steps1 = options.steps2 = options.steps3 = step;
      options.first = step == 1;
      test::Array gradient = test::Array::random(gradient_type, n, 10 + step);
      state.update(gradient, 0.37F, options);
      reference::adan(expected, gradient.doubles(), 0.37F, options);
    }
    test::expect_close(state.parameter, expected.parameter, test::fifty_roundings_near_zero,
                       "parameter");
    test::expect_close(state.m, expected.m, test::fifty_roundings_near_zero, "m");
    test::expect_close(state.u, expected.u, test::fifty_roundings_near_zero, "u");
    test::expect_close(state.v, expected.v, test::fifty_roundings_near_zero, "v");
    test::expect_close(state.before, expected.before, 1e-7, "before");
    if (weight_type != DType::f32) {
      EXPECT_EQ(state.weights, test::Array(weight_type, state.parameter));
    }
  }
}

TEST_P(Adan, AFactorThatIsNotANumberChangesNothing) {
  const auto [gradient_type, weight_type, n] = GetParam();
  State state(weight_type, n);
  test::Array gradient = test::Array::random(gradient_type, n, 2);
  state.update(gradient, 1.0F, {});
  const State before = state;
  state.update(gradient, std::numeric_limits<float>::quiet_NaN(), {});
  EXPECT_EQ(state.parameter, before.parameter);
  EXPECT_EQ(state.u, before.u);
  EXPECT_EQ(state.before, before.before);
  EXPECT_EQ(state.weights, before.weights);
  state.update(gradient, 1.0F, {});
  EXPECT_NE(state.parameter, before.parameter);
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Adan, test::types_and_sizes());

// The first step sees no change of the gradient.
TEST(Adan, FirstStepIsTheLearningRateAgainstTheSign) {
  State state(DType::f32, 2);
  const std::vector<float> start = state.parameter;
  test::Array gradient(DType::f32, {1e-3F, -7.0F});
  state.update(gradient, 1.0F, {.learning_rate = 0.01, .first = true});
  EXPECT_NEAR(state.parameter[0] - start[0], -0.01, 1e-6);
  EXPECT_NEAR(state.parameter[1] - start[1], 0.01, 1e-6);
  EXPECT_EQ(state.u[1], 0.0F);
  EXPECT_EQ(state.before[1], 7.0F);
}

}  // namespace
}  // namespace triax
