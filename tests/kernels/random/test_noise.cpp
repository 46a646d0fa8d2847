// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/noise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/random/noise_of_word.hpp"
#include "kernels/random/random.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

class NoiseTypes : public testing::TestWithParam<DType> {};

// Any piece of the elements gets the noise that it has in the whole.
TEST_P(NoiseTypes, DependsOnTheGlobalIndexAlone) {
  for (const std::int64_t first : {0L, 1L, 8L, 1003L, (1L << 40) + 5})
    for (const std::int64_t count : {1, 7, 64, 20003}) {
      test::Array y = test::Array::random(GetParam(), count, 1);
      std::vector<double> expected = y.doubles();
      for (std::int64_t i = 0; i < count; ++i) {
        const auto index = static_cast<std::uint64_t>(first + i);
        expected[static_cast<std::size_t>(i)] +=
            0.25 * static_cast<double>(symmetric_uniform(philox(9, index / 4)[index % 4]));
      }
      test::run(add_noise, y.tensor(), {0.25F, 9}, first);
      test::expect_close(y, expected, 1e-6, "y");
    }
}

INSTANTIATE_TEST_SUITE_P(EveryType, NoiseTypes,
                         testing::Values(DType::f32, DType::bf16, DType::f16));

TEST(Noise, IsUniformBetweenMinusOneAndOne) {
  std::vector<float> y(100000, 0.0F);
  test::run(add_noise, Tensor(y.data(), {std::ssize(y)}), {1.0F, 3}, 0);
  double sum = 0.0, squares = 0.0;
  for (const float value : y) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(sum / 1e5, 0.0, 0.01);
  EXPECT_NEAR(squares / 1e5, 1.0 / 3.0, 0.005);
  EXPECT_LT(std::ranges::max(y), 1.0F);
  EXPECT_GT(std::ranges::min(y), -1.0F);
  EXPECT_LT(symmetric_uniform(~0U), 1.0F);
  EXPECT_GT(symmetric_uniform(0), -1.0F);
}

}  // namespace
}  // namespace triax
