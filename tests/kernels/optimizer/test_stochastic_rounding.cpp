// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/stochastic_rounding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/optimizer/adamw.hpp"
#include "kernels/random/random.hpp"
#include "kernels/reference/stochastic_rounding.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

std::uint32_t word_of(std::uint64_t key, std::int64_t number) {
  return philox(key, static_cast<std::uint64_t>(number / 4))[static_cast<std::size_t>(number % 4)];
}

class Rounding : public testing::TestWithParam<DType> {
 protected:
  DType type = GetParam();
  float rounded(float value, std::uint32_t word) const {
    return type == DType::bf16 ? rounded_stochastically<Bf16>(value, word)
                               : rounded_stochastically<F16>(value, word);
  }
  float nearest(float value) const { return test::Array(type, 1, value).floats().front(); }
};

// Numbers of every magnitude of half precision, subnormal ones included.
TEST_P(Rounding, AgreesWithReference) {
  const std::vector<float> values = test::random_values(4000, 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = std::ldexp(values[i], -static_cast<int>(i % 30));
    const std::uint32_t word = word_of(7, static_cast<std::int64_t>(i));
    const float result = rounded(value, word);
    // For subnormal halves, one bit of the sum of value and word is sometimes rounded away.
    const bool exact = type == DType::bf16 || std::fabs(value) >= 0x1p-14F;
    if (exact) {
      ASSERT_EQ(result, reference::rounded_stochastically(type, value, word)) << value;
    }
    EXPECT_EQ(nearest(result), result) << "a number of the type";
    EXPECT_LT(std::fabs(result - value), 2.0F * std::fabs(std::nextafter(value, INFINITY) - value) *
                                                 (type == DType::bf16 ? 0x1p+16F : 0x1p+13F) +
                                             0x1p-24F);
  }
}

TEST_P(Rounding, LeavesNumbersOfTheTypeAndWhatIsNotFinite) {
  for (const float value : {0.0F, -0.0F, 1.0F, -1.5F, 1024.0F, 0x1p-14F, 0x1p-24F, -0x1p-20F})
    for (const std::uint32_t word : {0U, 1U, ~0U}) {
      EXPECT_EQ(rounded(value, word), value);
      EXPECT_EQ(std::signbit(rounded(value, word)), std::signbit(value));
    }
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(inf, ~0U), inf);
  EXPECT_EQ(rounded(-inf, ~0U), -inf);
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN(), ~0U)));
}

// The mean of many draws is the number, to five standard deviations.
TEST_P(Rounding, IsRightOnAverage) {
  constexpr int draws = 100000;
  for (const float value : {1.0F + 0x1p-11F / 3.0F, -0.3F, 3.0e-4F, 2.0e-5F, 1.0e-7F}) {
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < draws; ++i) {
      const double result = rounded(value, word_of(11, i));
      sum += result - value;
      squares += (result - value) * (result - value);
    }
    EXPECT_GT(squares, 0.0) << value << " is no number of the type";
    EXPECT_LT(std::fabs(sum), 5.0 * std::sqrt(squares)) << value;
  }
}

struct Weights {
  explicit Weights(DType type, std::int64_t n)
      : parameter(test::random_values(n, 5)),
        zero(static_cast<std::size_t>(n)),
        gradient(type, n),
        weights(type, n) {}
  // A step with learning rate 0: the weights become the parameter, rounded.
  void round(std::int64_t begin, std::int64_t count, const ElementNumbers& numbers) {
    const auto part = [&](std::vector<float>& of) { return Tensor(of.data() + begin, {count}); };
    AdamWOptions options{.learning_rate = 0.0};
    options.stochastic = numbers;
    float one = 1.0F;
    test::run(adamw, part(parameter), weights.tensor().slice(0, begin, count),
              gradient.tensor().slice(0, begin, count), Tensor(&one, {1}), part(zero), part(zero),
              options);
  }
  std::vector<float> parameter, zero;
  test::Array gradient, weights;
};

// A matrix of 37 columns: two tensors side by side, a third below them, and elements that belong to
// no tensor.
constexpr std::int64_t columns = 37, rows = 300;
ElementNumbers three_tensors() {
  ElementNumbers numbers;
  numbers.columns = columns;
  numbers.boxes[0] = {0, 200, 0, 20, 1000, 64, 21};
  numbers.boxes[1] = {0, 200, 20, 17, 3, 17, 22};
  numbers.boxes[2] = {200, 90, 0, columns, 50000, columns, 23};
  numbers.count = 3;
  return numbers;
}

std::uint32_t expected_word(const ElementNumbers& numbers, std::int64_t row, std::int64_t column) {
  for (int b = 0; b < numbers.count; ++b) {
    const ElementNumbers::Box& box = numbers.boxes[static_cast<std::size_t>(b)];
    const std::int64_t r = row - box.row, c = column - box.column;
    if (r >= 0 && r < box.rows && c >= 0 && c < box.columns)
      return word_of(box.key, box.first + r * box.width + c);
  }
  return 0;
}

TEST_P(Rounding, WeightsAreRoundedByTheNumbersOfTheirElements) {
  const ElementNumbers numbers = three_tensors();
  Weights all(type, rows * columns);
  all.round(0, rows * columns, numbers);
  const std::vector<float> found = all.weights.floats();
  int up = 0;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const float value = all.parameter[static_cast<std::size_t>(i)];
    const float result = rounded(value, expected_word(numbers, i / columns, i % columns));
    ASSERT_EQ(found[static_cast<std::size_t>(i)], result) << i;
    up += result != nearest(value) ? 1 : 0;
  }
  EXPECT_GT(up, rows * columns / 8) << "others than to nearest";
}

// Results do not depend on how a range is split or where it begins.
TEST_P(Rounding, CutsDoNotShow) {
  Weights all(type, rows * columns), parts(type, rows * columns);
  ElementNumbers numbers = three_tensors();
  all.round(0, rows * columns, numbers);
  for (std::int64_t begin = 0; begin < rows * columns;) {
    const std::int64_t count = std::min<std::int64_t>(rows * columns - begin, 1 + begin * 2);
    numbers.offset = begin;
    parts.round(begin, count, numbers);
    begin += count;
  }
  EXPECT_EQ(parts.weights, all.weights);
}

INSTANTIATE_TEST_SUITE_P(Types, Rounding, testing::Values(DType::bf16, DType::f16));

}  // namespace
}  // namespace triax
