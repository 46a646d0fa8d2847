// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/vector_group.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace triax {
namespace {

TEST(VectorGroup, ArithmeticIsThatOfEachPart) {
  const VectorGroup<3> a{{FloatVector{} + 1.0F, FloatVector{} + 2.0F, FloatVector{} + 3.0F}};
  const VectorGroup<3> b{{FloatVector{} + 5.0F, FloatVector{} + 7.0F, FloatVector{} + 9.0F}};
  const auto parts = [](const VectorGroup<3>& of) {
    return std::vector<float>{of.part[0][0], of.part[1][0], of.part[2][vector_floats - 1]};
  };
  EXPECT_EQ(parts(a + b), (std::vector<float>{6, 9, 12}));
  EXPECT_EQ(parts(b - a), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(parts(a * b), (std::vector<float>{5, 14, 27}));
  EXPECT_EQ(parts(a - 1.0F), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(parts(a + 1.0F), (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(parts(a * 2.0F), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(parts(multiply_add(a, b, a)), (std::vector<float>{6, 16, 30}));
  EXPECT_EQ(parts(multiply_add(a, b, 1.0F)), (std::vector<float>{6, 15, 28}));
  EXPECT_EQ(parts(multiply_add(a, 2.0F, 1.0F)), (std::vector<float>{3, 5, 7}));
  EXPECT_EQ(parts(multiply_add(a, 2.0F, b)), (std::vector<float>{7, 11, 15}));
  EXPECT_EQ(parts(magnitude_within(5.5F, b - 12.0F)), (std::vector<float>{5.5F, 5, 3}));
}

// Staged loops visit every element once and in order, in place, for any length. A group must not
// see what an earlier one wrote.
TEST(VectorGroup, StagedLoopsDoAllElementsInPlace) {
  for (std::int64_t n = 0; n < 9 * vector_floats; n += 3) {
    std::vector<float> x(static_cast<std::size_t>(n + 2), 0.0F), expected(x);
    std::iota(x.begin(), x.end(), 0.0F);
    std::iota(expected.begin(), expected.end(), 0.0F);
    for (std::int64_t i = 1; i < n + 1; ++i)
      expected[static_cast<std::size_t>(i)] = 2.0F * static_cast<float>(i) + 1.0F;
    std::int64_t last_begin = -1;
    for_staged_vectors<2>(
        1, n + 1, [&](std::int64_t i, auto lanes) { return lanes.stream(x.data() + i); },
        [](const auto& v) { return v * 2.0F; },
        [&](std::int64_t i, const auto& v, auto lanes) {
          EXPECT_GT(i, last_begin);
          last_begin = i;
          lanes.write(x.data() + i, v + 1.0F, false);
        });
    EXPECT_EQ(x, expected) << n << " elements";
  }
}

TEST(VectorGroup, WritesPairsAsSingleVectors) {
  constexpr std::int64_t n = 4 * vector_floats;
  std::vector<float> x(n);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0F + 0.00123F * static_cast<float>(i);
  alignas(64) Bf16 together[n];
  alignas(64) Bf16 apart[n];
  for (const bool past : {false, true}) {
    const GroupLanes<4> lanes;
    lanes.write(together, lanes.stream(x.data()), past);
    for (std::int64_t i = 0; i < n; i += vector_floats) store(apart + i, load(x.data() + i));
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(float{together[i]}, float{apart[i]}) << i;
  }
}

}  // namespace
}  // namespace triax
