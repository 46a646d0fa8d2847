// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/orthogonal/muon.hpp"

#include "kernels/reference/muon.hpp"
#include "tests/kernels/optimizer/stepped_state.hpp"

namespace triax {
namespace {

class Muon : public testing::TestWithParam<std::tuple<DType, std::int64_t>> {};

TEST_P(Muon, FiftyMomentaAgreeWithReference) {
  const auto [type, n] = GetParam();
  for (const bool nesterov : {false, true})
    for (const double clip : {std::numeric_limits<double>::infinity(), 0.125}) {
      std::vector<float> direction(static_cast<std::size_t>(n)), m = direction;
      reference::MuonState expected{test::widen(direction), test::widen(m)};
      float factor = 0.37F;
      const MuonOptions options{.momentum = 0.9, .nesterov = nesterov, .clip_value = clip};
      for (unsigned step = 0; step < 50; ++step) {
        test::Array gradient = test::Array::random(type, n, 10 + step);
        test::run(muon_momentum, Tensor(direction.data(), {n}), gradient.tensor(),
                  Tensor(&factor, {1}), Tensor(m.data(), {n}), options);
        reference::muon_momentum(expected, gradient.doubles(), factor, options);
      }
      test::expect_close(m, expected.m, test::fifty_roundings, "momentum");
      test::expect_close(direction, expected.direction, test::fifty_roundings, "direction");
    }
}

TEST_P(Muon, StepsAgainstTheDirectionAndDecays) {
  const auto [type, n] = GetParam();
  std::vector<float> parameter = test::random_values(n, 1), before = parameter;
  std::vector<float> direction = test::random_values(n, 2);
  test::Array weights(type, n);
  float factor = 0.001F;  // of the gradient: no part of this half
  test::run(muon_step, Tensor(parameter.data(), {n}),
            type == DType::f32 ? Tensor{} : weights.tensor(), Tensor(direction.data(), {n}),
            Tensor(&factor, {1}), MuonOptions{.learning_rate = 0.5, .weight_decay = 0.1});
  for (std::size_t i = 0; i < parameter.size(); ++i)
    EXPECT_NEAR(parameter[i], 0.95F * before[i] - 0.5F * direction[i], 1e-6F);
  if (type != DType::f32) {
    EXPECT_EQ(weights, test::Array(type, parameter));
  }
}

TEST_P(Muon, AFactorThatIsNotANumberChangesNothing) {
  const auto [type, n] = GetParam();
  std::vector<float> parameter = test::random_values(n, 1), m = test::random_values(n, 2);
  std::vector<float> direction = test::random_values(n, 3);
  const auto before = std::tuple(parameter, m, direction);
  test::Array gradient = test::Array::random(type, n, 4);
  float factor = std::numeric_limits<float>::quiet_NaN();
  test::run(muon_momentum, Tensor(direction.data(), {n}), gradient.tensor(), Tensor(&factor, {1}),
            Tensor(m.data(), {n}), MuonOptions{});
  test::run(muon_step, Tensor(parameter.data(), {n}), Tensor{}, Tensor(direction.data(), {n}),
            Tensor(&factor, {1}), MuonOptions{});
  EXPECT_EQ(before, std::tuple(parameter, m, direction));
}

TEST_P(Muon, DividesByTheNormOrByEpsilon) {
  const auto [type, n] = GetParam();
  for (double squares : {16.0, 1e-8}) {
    std::vector<float> x = test::random_values(n, 1), before = x;
    test::run(divide_by_norm, Tensor(x.data(), {n}), Tensor(&squares, {1}), 1e-2);
    const float divisor = squares == 16.0 ? 4.0F : 1e-2F;
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_FLOAT_EQ(x[i], before[i] / divisor);
  }
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Muon,
                         testing::Combine(test::every_type(), testing::Values(1, 37, 10007)));

}  // namespace
}  // namespace triax
