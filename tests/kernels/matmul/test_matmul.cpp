// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/matmul.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "kernels/reference/matmul.hpp"
#include "tests/kernels/matmul_operands.hpp"

namespace triax::test {
namespace {

std::vector<double> magnitudes(std::vector<double> values) {
  for (double& value : values) value = std::fabs(value);
  return values;
}

struct Case {
  std::int64_t m, n, k;
  Lie a, b, c;
  bool accumulate, bias;
};

// Magnitude of everything rounded to c's type: the result, and on a GPU the intermediate sums that
// cuBLASLt rounds (product, bias, previous c).
double rounded(double product, double start, double added) {
  const double result = std::fabs(product + start + added);
  if (!test::on_a_gpu()) return result;
  return result + std::fabs(product) + std::fabs(product + start) + std::fabs(product + added);
}

// Expects each element within 1e-6 of the sum of its terms' magnitudes, which covers float32
// rounding and nothing else, plus the roundings to c's type.
void expect_like_reference(const Case& test, const Types& types = {}) {
  SCOPED_TRACE(fmt::format("m {} n {} k {} a {} b {} c {} accumulate {} bias {} of {} {} {}",
                           test.m, test.n, test.k, int(test.a), int(test.b), int(test.c),
                           test.accumulate, test.bias, name_of(types.operands), name_of(types.c),
                           name_of(types.bias)));
  const Matrix a(test.m, test.k, test.a, 1, types.operands);
  const Matrix b(test.k, test.n, test.b, 2, types.operands);
  const Matrix c(test.m, test.n, test.c, 3, types.c);
  const Matrix bias(1, test.n, Lie::plain, 4, types.bias);
  const std::vector<double> before = to_double(c.view());
  const bool sliced = test.c == Lie::slice && test.m > 0;
  const std::vector<double> around = sliced ? c.around() : std::vector<double>();

  MatmulOptions options;
  options.accumulate = test.accumulate;
  if (test.bias) options.bias = bias.view().flat();
  multiply(c.view(), a.view(), b.view(), options);

  const auto da = to_double(a.view());
  const auto db = to_double(b.view());
  const auto dbias = to_double(bias.view());
  const auto product = reference::matmul(da, db, test.m, test.n, test.k);
  const auto size = reference::matmul(magnitudes(da), magnitudes(db), test.m, test.n, test.k);
  const auto actual = to_double(c.view());
  const double rounding = rounding_of(types.c);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double start = test.accumulate ? before[i] : 0.0;
    const double added = test.bias ? dbias[i % static_cast<std::size_t>(test.n)] : 0.0;
    const double expected = product[i] + start + added;
    ASSERT_NEAR(actual[i], expected,
                1e-6 * (size[i] + std::fabs(start) + std::fabs(added)) +
                    rounding * rounded(product[i], start, added))
        << "element " << i;
  }
  if (sliced) {
    EXPECT_EQ(c.around(), around);
  }
}

TEST(Matmul, EveryLayoutOfSmallAndOddShapes) {
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {1, 7, 5},
                                                                        {7, 1, 5},
                                                                        {7, 5, 1},
                                                                        {1, 1, 9},
                                                                        {3, 5, 7},
                                                                        {17, 33, 65},
                                                                        {64, 48, 32}})
    for (Lie a : {Lie::plain, Lie::transposed, Lie::slice})
      for (Lie b : {Lie::plain, Lie::transposed, Lie::slice})
        for (Lie c : {Lie::plain, Lie::slice})
          for (bool accumulate : {false, true})
            for (bool bias : {false, true})
              for (const Types& types : all_types)
                expect_like_reference({m, n, k, a, b, c, accumulate, bias}, types);
}

TEST(Matmul, LayerShapes) {
  for (const Types& types : all_types) {
    expect_like_reference({128, 192, 256, Lie::plain, Lie::transposed, Lie::plain, false, true},
                          types);  // forward
    expect_like_reference({128, 256, 192, Lie::plain, Lie::plain, Lie::slice, false, false},
                          types);  // input gradient
    expect_like_reference({192, 256, 129, Lie::transposed, Lie::plain, Lie::plain, true, false},
                          types);  // weight gradient
  }
}

TEST(Matmul, MoreThanABlockWhereTypesAreWidened) {
  for (const Types& types : all_types) {
    expect_like_reference({1030, 9, 11, Lie::transposed, Lie::plain, Lie::slice, true, true},
                          types);
    expect_like_reference({9, 1030, 11, Lie::plain, Lie::transposed, Lie::slice, true, true},
                          types);
    expect_like_reference({1030, 1027, 3, Lie::slice, Lie::slice, Lie::plain, false, true}, types);
    expect_like_reference({5, 7, 8200, Lie::slice, Lie::slice, Lie::plain, true, true}, types);
    expect_like_reference({5, 7, 8200, Lie::plain, Lie::transposed, Lie::plain, false, false},
                          types);
  }
}

// Larger than a tile in each dimension, and not a multiple of it.
TEST(Matmul, MoreThanABlock) {
  for (const Types& types : all_types)
    for (const bool more : {false, true}) {
      expect_like_reference({3, 7, 16500, Lie::plain, Lie::plain, Lie::slice, more, true}, types);
      expect_like_reference({4200, 3, 11, Lie::transposed, Lie::plain, Lie::plain, more, true},
                            types);
      expect_like_reference(
          {1100, 1, 520, Lie::transposed, Lie::transposed, Lie::plain, more, false}, types);
      expect_like_reference({7, 2100, 3, Lie::transposed, Lie::plain, Lie::slice, more, true},
                            types);
    }
  expect_like_reference({1030, 2050, 17, Lie::plain, Lie::transposed, Lie::plain, true, true});
  expect_like_reference({20, 2050, 300, Lie::plain, Lie::transposed, Lie::slice, true, true});
  expect_like_reference({260, 810, 17, Lie::slice, Lie::transposed, Lie::plain, false, false});
  for (const auto& [m, n] : {std::pair{520, 3}, {3, 1030}})
    expect_like_reference({m, n, 8300, Lie::plain, Lie::plain, Lie::plain, true, true},
                          {bf16, bf16, bf16});
}

TEST(Matmul, NoRowsNoColumnsOrNothingToSum) {
  for (const Types& types : all_types)
    for (bool accumulate : {false, true})
      for (bool bias : {false, true}) {
        expect_like_reference({0, 5, 3, Lie::plain, Lie::plain, Lie::plain, accumulate, bias},
                              types);
        expect_like_reference({4, 0, 3, Lie::plain, Lie::plain, Lie::plain, accumulate, bias},
                              types);
        expect_like_reference({4, 5, 0, Lie::plain, Lie::plain, Lie::slice, accumulate, bias},
                              types);
      }
}

TEST(Matmul, OneColumnOfAMatrix) {  // stride (ld, ld): one row of the transpose
  for (DType type : {f32, bf16, f16}) {
    const Matrix wide(9, 6, Lie::plain, 1, type);
    const Matrix b(9, 4, Lie::plain, 2, type);
    const Tensor row = wide.view().slice(1, 2, 1).transposed();
    std::vector<float> out(4);
    multiply(Tensor(out.data(), {1, 4}), row, b.view());
    const auto expected = reference::matmul(to_double(row), to_double(b.view()), 1, 4, 9);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], expected[i], 1e-5);
  }
}

}  // namespace
}  // namespace triax::test
