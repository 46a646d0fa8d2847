// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that the updates of all optimizers share: agreement with their oracles in every type, and
// a factor that is no number.
#include <gtest/gtest.h>

#include <limits>
#include <tuple>
#include <vector>

#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax::test {

/// Largest relative error of fifty steps, each of which rounds parameter and state twice: twice
/// 50 x 2^-24. A parameter that has come close to 0 is off by more of itself.
inline constexpr double fifty_roundings = 6e-6, fifty_roundings_near_zero = 2e-5;

/// A parameter, its 16-bit weights if `weight_type` is one, and a state tensor.
struct SteppedState {
  SteppedState(DType weight_type, std::int64_t n)
      : parameter(random_values(n, 1)),
        state(static_cast<std::size_t>(n)),
        weights(weight_type, n) {}
  bool copies() const { return weights.dtype() != DType::f32; }
  template <class Options>
  void update(void (*kernel)(const Stream&, const Tensor&, const Tensor&, const Tensor&,
                             const Tensor&, const Tensor&, const Options&),
              Array& gradient, float factor, const Options& options) {
    const Shape shape = {static_cast<std::int64_t>(parameter.size())};
    run(kernel, Tensor(parameter.data(), shape), copies() ? weights.tensor() : Tensor{},
        gradient.tensor(), Tensor(&factor, {1}), Tensor(state.data(), shape), options);
  }
  std::vector<float> parameter, state;
  Array weights;
};

/// Types of gradient and weights, and elements.
using TypesAndSize = std::tuple<DType, DType, std::int64_t>;
inline auto types_and_sizes() {
  return testing::Combine(every_type(), every_type(), testing::Values(1, 37, 10007));
}

/// Fifty steps of `kernel` against fifty of `oracle`, whose state is {parameter, state}.
/// next(options, step) sets the options of a step from 0. Tolerance of parameter and state,
/// relative.
template <class State, class Kernel, class Oracle, class Options, class Next>
void expect_fifty_steps(const TypesAndSize& of, Kernel kernel, Oracle oracle, Options options,
                        const Next& next, double tolerance) {
  const auto [gradient_type, weight_type, n] = of;
  SteppedState state(weight_type, n);
  State expected{widen(state.parameter), widen(state.state)};
  constexpr float factor = 0.37F;
  for (unsigned step = 0; step < 50; ++step) {
    next(options, step);
    Array gradient = Array::random(gradient_type, n, 10 + step);
    state.update(kernel, gradient, factor, options);
    oracle(expected, gradient.doubles(), factor, options);
  }
  const auto& [parameter, kept] = expected;
  expect_close(state.parameter, parameter, tolerance, "parameter");
  expect_close(state.state, kept, tolerance, "state");
  if (state.copies()) {
    EXPECT_EQ(state.weights, Array(weight_type, state.parameter));
  }
}

/// A factor that is NaN changes nothing; the next step changes something.
template <class Kernel, class Options>
void expect_nothing_changes(const TypesAndSize& of, Kernel kernel, const Options& options) {
  const auto [gradient_type, weight_type, n] = of;
  SteppedState state(weight_type, n);
  Array gradient = Array::random(gradient_type, n, 2);
  state.update(kernel, gradient, 1.0F, options);
  const SteppedState before = state;
  state.update(kernel, gradient, std::numeric_limits<float>::quiet_NaN(), options);
  EXPECT_EQ(state.parameter, before.parameter);
  EXPECT_EQ(state.state, before.state);
  EXPECT_EQ(state.weights, before.weights);
  state.update(kernel, gradient, 1.0F, options);
  EXPECT_NE(state.parameter, before.parameter);
}

}  // namespace triax::test
