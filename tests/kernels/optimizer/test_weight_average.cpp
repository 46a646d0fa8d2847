// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/weight_average.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

class WeightAverage : public testing::TestWithParam<std::int64_t> {};

void average(std::vector<float>& of, const std::vector<float>& parameter, double decay,
             float factor = 1.0F) {
  std::vector<float> weights = parameter;
  const Shape shape = {std::ssize(of)};
  test::run(weight_average, Tensor(of.data(), shape), Tensor(weights.data(), shape),
            Tensor(&factor, {1}), decay);
}

TEST_P(WeightAverage, FiftyStepsAgreeWithDoublePrecision) {
  std::vector<float> found = test::random_values(GetParam(), 1);
  std::vector<double> expected = test::widen(found);
  for (unsigned step = 0; step < 50; ++step) {
    const std::vector<float> parameter = test::random_values(GetParam(), 2 + step);
    average(found, parameter, 0.9);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = 0.9 * expected[i] + 0.1 * static_cast<double>(parameter[i]);
  }
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-6) << i;
}

TEST_P(WeightAverage, EqualWeightsStay) {
  const std::vector<float> parameter = test::random_values(GetParam(), 1);
  std::vector<float> found = parameter;
  average(found, parameter, 0.999);
  EXPECT_EQ(found, parameter);
}

TEST_P(WeightAverage, AFactorThatIsNotANumberChangesNothing) {
  const std::vector<float> before = test::random_values(GetParam(), 1);
  std::vector<float> found = before;
  average(found, test::random_values(GetParam(), 2), 0.5, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(found, before);
}

INSTANTIATE_TEST_SUITE_P(Sizes, WeightAverage, testing::Values(1, 37, 20011));

}  // namespace
}  // namespace triax
