// SPDX-License-Identifier: Apache-2.0
// The oracle is AdamW in float32 between unpacking and packing; for the codes, see
// test_packed_state.cpp and, for bitsandbytes, tests/state/optimizer/rules.
#include "kernels/optimizer/quantized/adamw_8bit.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

using Bytes = std::vector<std::uint8_t>;

Tensor view(std::vector<float>& values) {
  return {values.data(), {static_cast<std::int64_t>(values.size())}};
}
Tensor view(Bytes& bytes) {
  return {static_cast<void*>(bytes.data()), DType::u8, {static_cast<std::int64_t>(bytes.size())}};
}

struct State {
  State(DType weight_type, std::int64_t n)
      : parameter(test::random_values(n, 1)),
        m(static_cast<std::size_t>(packed_bytes(n))),
        v(m),
        weights(weight_type, n) {}
  Tensor copy() { return weights.dtype() == DType::f32 ? Tensor{} : weights.tensor(); }
  void update(test::Array& gradient, float factor, const AdamWOptions& options) {
    test::run(adamw_8bit, view(parameter), copy(), gradient.tensor(), Tensor(&factor, {1}), view(m),
              view(v), options);
  }
  // The same by way of float32.
  void expect(test::Array& gradient, float factor, const AdamWOptions& options) {
    const auto n = static_cast<std::int64_t>(parameter.size());
    std::vector<float> wide_m(parameter.size()), wide_v(parameter.size());
    unpack_state(Stream(), view(wide_m), view(m), 0, CodeMap::signs);
    unpack_state(Stream(), view(wide_v), view(v), 0, CodeMap::positive);
    adamw(Stream(), view(parameter), copy(), gradient.tensor(), Tensor(&factor, {1}), view(wide_m),
          view(wide_v), options);
    ASSERT_EQ(packed_bytes(n), std::ssize(m));
    pack_state(view(m), view(wide_m), CodeMap::signs);
    pack_state(view(v), view(wide_v), CodeMap::positive);
  }
  std::vector<float> parameter;
  Bytes m, v;
  test::Array weights;
};

ElementNumbers numbers_of(std::int64_t n) {
  ElementNumbers numbers{};
  numbers.boxes[0] = {0, 1, 0, n, 0, n, 7};
  numbers.count = 1;
  numbers.columns = n;
  return numbers;
}

double share_of_others(const Bytes& a, const Bytes& b) {
  std::size_t others = 0;
  for (std::size_t i = 0; i < a.size(); ++i) others += a[i] != b[i] ? 1 : 0;
  return static_cast<double>(others) / static_cast<double>(a.size());
}

class AdamW8bit : public testing::TestWithParam<std::tuple<DType, DType, std::int64_t>> {};

TEST_P(AdamW8bit, FiftyStepsAreThoseOfAdamWBetweenUnpackingAndPacking) {
  const auto [gradient_type, weight_type, n] = GetParam();
  State state(weight_type, n), expected(weight_type, n);
  AdamWOptions options{.learning_rate = 6e-4, .beta2 = 0.95, .weight_decay = 0.1, .clip_value = 2};
  if (weight_type != DType::f32 && n > 1000) options.stochastic = numbers_of(n);
  for (options.step = 1; options.step <= 50; ++options.step) {
    test::Array gradient =
        test::Array::random(gradient_type, n, static_cast<unsigned>(10 + options.step));
    state.update(gradient, 0.37F, options);
    expected.expect(gradient, 0.37F, options);
    // A device may fuse a product and a sum: a number on a threshold then gets the next code.
    EXPECT_LE(share_of_others(state.m, expected.m),
              test::space() == MemorySpace::host ? 0.0 : 0.01);
    EXPECT_LE(share_of_others(state.v, expected.v),
              test::space() == MemorySpace::host ? 0.0 : 0.01);
    expected.m = state.m;
    expected.v = state.v;
    test::expect_close(state.parameter, test::widen(expected.parameter), 2e-6, "parameter");
  }
  if (test::space() == MemorySpace::host) {
    EXPECT_EQ(state.weights, expected.weights);
  }
}

TEST_P(AdamW8bit, AFactorThatIsNotANumberChangesNothing) {
  const auto [gradient_type, weight_type, n] = GetParam();
  State state(weight_type, n);
  test::Array gradient = test::Array::random(gradient_type, n, 2);
  state.update(gradient, 1.0F, {});
  const State before = state;
  state.update(gradient, std::numeric_limits<float>::quiet_NaN(), {});
  EXPECT_EQ(state.parameter, before.parameter);
  EXPECT_EQ(state.m, before.m);
  EXPECT_EQ(state.v, before.v);
  EXPECT_EQ(state.weights, before.weights);
  state.update(gradient, 1.0F, {});
  EXPECT_NE(state.parameter, before.parameter);
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, AdamW8bit,
                         testing::Combine(test::every_type(), test::every_type(),
                                          testing::Values(37, 256, 300, 10007)));

// Elements of the last cell that the tensor lacks are neither read nor counted in its scale.
TEST(AdamW8bit, LeavesTheRestOfTheLastCell) {
  State state(DType::f32, 300);
  test::Array gradient(DType::f32, 300, 1.0F);
  std::fill(state.m.begin() + cell_bytes + 44, state.m.end() - 4, std::uint8_t{9});
  state.update(gradient, 1.0F, {});
  EXPECT_EQ(state.m[static_cast<std::size_t>(cell_bytes + 44)], 9);
  EXPECT_EQ(state.m[static_cast<std::size_t>(cell_bytes + 43)], 255);
}

TEST(AdamW8bit, RefusesStatesOfAnotherSize) {
  State state(DType::f32, 300);
  test::Array gradient(DType::f32, 300);
  state.m.resize(600);
  EXPECT_THROW(state.update(gradient, 1.0F, {}), Error);
}

}  // namespace
}  // namespace triax
