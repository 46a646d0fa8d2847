// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/rope.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "kernels/reference/rope.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr double theta = 10000.0;
constexpr double tolerance = 1e-6;

struct Size {
  std::int64_t batch, length, heads, width;
};

// A table of the plain frequencies.
void make_table(const Tensor& table, double factor = 1.0) {
  const auto plain =
      reference::rope_frequencies(theta, static_cast<std::size_t>(2 * table.size(2)));
  test::run(rope_table, table, plain, factor);
}

class Rope : public testing::TestWithParam<std::tuple<DType, Size>> {
 protected:
  std::vector<double> expected(double direction) const {
    return reference::rope(x.doubles(), static_cast<std::size_t>(size.length),
                           static_cast<std::size_t>(size.heads),
                           static_cast<std::size_t>(size.width), theta, direction);
  }
  void SetUp() override { make_table(table()); }
  Tensor table() { return angles.tensor({2, size.length, size.width / 2}); }
  Tensor view(test::Array& values) {
    return values.tensor({size.batch, size.length, size.heads, size.width});
  }

  DType dtype = std::get<0>(GetParam());
  Size size = std::get<1>(GetParam());
  test::Array angles = test::Array(DType::f32, size.length* size.width);
  test::Array x = test::Array::random(dtype, size.batch* size.length* size.heads* size.width, 1);
};

TEST_P(Rope, AgreesWithReferenceBothWays) {
  test::Array forward = x;
  test::run(rope_forward, view(forward), table(), Tensor{});
  test::expect_close(forward, expected(1.0), tolerance, "forward");
  test::Array backward = x;
  test::run(rope_backward, view(backward), table(), Tensor{});
  test::expect_close(backward, expected(-1.0), tolerance, "backward");
}

TEST_P(Rope, BackwardUndoesForward) {
  test::Array turned = x;
  test::run(rope_forward, view(turned), table(), Tensor{});
  test::run(rope_backward, view(turned), table(), Tensor{});
  // The rounding of the first rotation, of two numbers, passes through the second one.
  test::expect_close(turned, x.doubles(), tolerance + 2 * test::rounding_of(dtype), "x");
}

TEST_P(Rope, HeadsInsideWiderRows) {
  const std::int64_t width = size.heads * size.width;
  test::Array wide = test::spread(x, width, width + 5, 7.0F);
  const Tensor inside = wide.tensor({size.batch, size.length, 1, width + 5})
                            .restrided({size.batch, size.length, size.heads, size.width},
                                       {size.length * (width + 5), width + 5, size.width, 1});
  test::run(rope_forward, inside, table(), Tensor{});
  test::run(rope_forward, view(x), table(), Tensor{});
  EXPECT_EQ(wide, test::spread(x, width, width + 5, 7.0F));
}

// The last positions alone, with the end of the table, give the bits that they have among all
// positions.
TEST_P(Rope, SliceOfTheTable) {
  test::Array whole = x;
  test::run(rope_forward, view(whole), table(), Tensor{});
  const std::int64_t past = size.length / 2;
  const std::int64_t count = size.length - past;
  const Tensor rest = view(x).slice(1, past, count);
  test::run(rope_forward, rest, table().slice(1, past, count), Tensor{});
  const std::int64_t of_position = size.heads * size.width;
  for (std::int64_t b = 0; b < size.batch; ++b) {
    const auto at = [&](const test::Array& values) {
      const std::vector<float> all = values.floats();
      const auto begin = all.begin() + (b * size.length + past) * of_position;
      return std::vector<float>(begin, begin + count * of_position);
    };
    EXPECT_EQ(at(x), at(whole)) << b;
  }
}

// Two documents in a sequence: the second is turned as a sequence of its own, bit for bit.
TEST_P(Rope, PositionsOfDocumentsBeginAnew) {
  const std::int64_t first = size.length / 2, second = size.length - first;
  std::vector<std::int32_t> of_token;
  for (std::int64_t b = 0; b < size.batch; ++b)
    for (std::int64_t t = 0; t < size.length; ++t)
      of_token.push_back(static_cast<std::int32_t>(t < first ? t : t - first));
  const Tensor positions(of_token.data(), {size.batch, size.length});
  for (const auto kernel : {&rope_forward, &rope_backward}) {
    test::Array together = x, apart = x;
    test::run(kernel, view(together), table(), positions);
    if (first > 0) test::run(kernel, view(apart).slice(1, 0, first), table(), Tensor{});
    test::run(kernel, view(apart).slice(1, first, second), table(), Tensor{});
    EXPECT_EQ(together, apart);
  }
}

// Partial rotary: a table of fewer pairs turns the first elements of each head alone.
TEST_P(Rope, ATableOfFewerPairsLeavesTheRest) {
  if (size.width < 4) return;
  const std::int64_t rotated = size.width / 4 * 2;
  const Tensor part = angles.tensor({2, size.length, rotated / 2});
  make_table(part);
  for (const auto& [kernel, direction] : {std::pair{&rope_forward, 1.0}, {&rope_backward, -1.0}}) {
    test::Array turned = x;
    test::run(kernel, view(turned), part, Tensor{});
    test::expect_close(turned,
                       reference::partial_rope(x.doubles(), static_cast<std::size_t>(size.length),
                                               static_cast<std::size_t>(size.heads),
                                               static_cast<std::size_t>(size.width),
                                               static_cast<std::size_t>(rotated), theta, direction),
                       tolerance, "x");
    const std::vector<float> before = x.floats(), after = turned.floats();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool rest = static_cast<std::int64_t>(i) % size.width >= rotated;
      ASSERT_TRUE(!rest || after[i] == before[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Rope,
                         testing::Combine(test::every_type(),
                                          testing::Values(Size{1, 1, 1, 2}, Size{2, 7, 3, 6},
                                                          Size{1, 33, 2, 64}, Size{3, 5, 1, 34})));

TEST(RopeTable, KeepsItsPrecisionAtLargePositions) {
  constexpr std::int64_t length = 100000;
  std::vector<float> values(2 * length);
  make_table(Tensor(values.data(), {2, length, 1}));
  EXPECT_FLOAT_EQ(values[length - 1], static_cast<float>(std::cos(99999.0)));
  EXPECT_FLOAT_EQ(values[2 * length - 1], static_cast<float>(std::sin(99999.0)));
}

TEST(RopeTable, TurnsByTheFrequenciesThatItIsGiven) {
  const std::vector<double> frequencies = {1.0, 0.0032114459947525913, 9.418306725434909e-08};
  constexpr std::size_t half = 3, length = 2;
  std::vector<float> values(2 * length * half);
  test::run(rope_table, Tensor(values.data(), {2, length, half}), frequencies, 1.0);
  for (std::size_t d = 0; d < half; ++d) {  // position 1
    EXPECT_FLOAT_EQ(values[half + d], static_cast<float>(std::cos(frequencies[d]))) << d;
    EXPECT_FLOAT_EQ(values[3 * half + d], static_cast<float>(std::sin(frequencies[d]))) << d;
  }
}

TEST(RopeTable, RefusesAnotherNumberOfFrequencies) {
  std::vector<float> values(8);
  EXPECT_THROW(test::run(rope_table, Tensor(values.data(), {2, 2, 2}), std::vector{1.0}, 1.0),
               Error);
}

// yarn and longrope multiply cosines and sines: heads grow by the factor, in the forward pass and
// in its gradient.
TEST(RopeTable, FactorActsOnCosinesAndSines) {
  constexpr double factor = 1.25;
  constexpr std::int64_t length = 5, width = 6;
  std::vector<float> plain(length * width), scaled(length * width);
  make_table(Tensor(plain.data(), {2, length, width / 2}));
  make_table(Tensor(scaled.data(), {2, length, width / 2}), factor);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_FLOAT_EQ(scaled[i], static_cast<float>(factor) * plain[i]) << i;
  for (const auto& [kernel, direction] : {std::pair{&rope_forward, 1.0}, {&rope_backward, -1.0}}) {
    test::Array x = test::Array::random(DType::f32, length * width, 1);
    std::vector<double> expected = reference::rope(x.doubles(), length, 1, width, theta, direction);
    for (double& value : expected) value *= factor;
    test::run(kernel, x.tensor({1, length, 1, width}),
              Tensor(scaled.data(), {2, length, width / 2}), Tensor{});
    test::expect_close(x, expected, tolerance, "x");
  }
}

TEST(Rope, RefusesOddHeads) {
  std::vector<float> memory(64);
  EXPECT_THROW(test::run(rope_forward, Tensor(memory.data(), {1, 2, 2, 3}),
                         Tensor(memory.data(), {2, 2, 1}), Tensor{}),
               Error);
}

TEST(Rope, RefusesATableOfMorePairsThanAHeadHas) {
  std::vector<float> memory(64);
  EXPECT_THROW(test::run(rope_forward, Tensor(memory.data(), {1, 2, 2, 4}),
                         Tensor(memory.data(), {2, 2, 3}), Tensor{}),
               Error);
}

TEST(Rope, RefusesPositionsOfOtherTokens) {
  std::vector<float> memory(64);
  std::vector<std::int32_t> positions(4);
  EXPECT_THROW(test::run(rope_forward, Tensor(memory.data(), {1, 2, 2, 4}),
                         Tensor(memory.data(), {2, 2, 2}), Tensor(positions.data(), {1, 1})),
               Error);
}

TEST(RopeReference, InverseIsTheGradient) {
  const auto x = test::widen(test::random_values(2 * 3 * 2 * 6, 1));
  const auto dy = test::widen(test::random_values(2 * 3 * 2 * 6, 2));
  for (const std::size_t rotated : {6, 4})
    test::expect_gradient(
        [&](const std::vector<double>& at) {
          return test::dot(reference::partial_rope(at, 3, 2, 6, rotated, theta), dy);
        },
        x, reference::partial_rope(dy, 3, 2, 6, rotated, theta, -1.0), "dx");
}

}  // namespace
}  // namespace triax
