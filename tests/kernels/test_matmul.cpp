#include "kernels/matmul.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/matmul.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

// How the bytes of an operand lie: as they are, transposed, or as columns of a wider matrix.
enum class Lie { plain, transposed, slice };

// A matrix of (rows, columns) with random elements in one of those ways.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t columns, Lie lie, unsigned seed) {
    constexpr std::int64_t before = 3;
    constexpr std::int64_t after = 5;
    const std::int64_t width = lie == Lie::slice ? columns + before + after : columns;
    values_ = test::random_values(rows * width + 1, seed);  // never null, even of no elements
    if (lie == Lie::transposed)
      view_ = Tensor(values_.data(), {columns, rows}).transposed();
    else
      view_ = Tensor(values_.data(), {rows, width});
    if (lie == Lie::slice) view_ = view_.slice(1, before, columns);
  }
  const Tensor& view() const { return view_; }
  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<float> values_;
  Tensor view_;
};

std::vector<double> magnitudes(std::vector<double> values) {
  for (double& value : values) value = std::fabs(value);
  return values;
}

struct Case {
  std::int64_t m, n, k;
  Lie a, b, c;
  bool accumulate, bias;
};

// Each element within 1e-6 of the sum of the magnitudes of its terms: rounding errors of float32,
// and nothing else.
void expect_like_reference(const Case& test) {
  SCOPED_TRACE(fmt::format("m {} n {} k {} a {} b {} c {} accumulate {} bias {}", test.m, test.n,
                           test.k, int(test.a), int(test.b), int(test.c), test.accumulate,
                           test.bias));
  const Matrix a(test.m, test.k, test.a, 1);
  const Matrix b(test.k, test.n, test.b, 2);
  const Matrix c(test.m, test.n, test.c, 3);
  std::vector<float> bias = test::random_values(test.n, 4);
  const std::vector<double> before = test::to_double(c.view());
  const std::vector<float> around = c.values();

  MatmulOptions options;
  options.accumulate = test.accumulate;
  if (test.bias) options.bias = Tensor(bias.data(), {test.n});
  matmul(Stream(), c.view(), a.view(), b.view(), options);

  const auto da = test::to_double(a.view());
  const auto db = test::to_double(b.view());
  const auto expected = reference::matmul(da, db, test.m, test.n, test.k);
  const auto size = reference::matmul(magnitudes(da), magnitudes(db), test.m, test.n, test.k);
  const auto actual = test::to_double(c.view());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double start = (test.accumulate ? before[i] : 0.0);
    const double added = test.bias ? bias[i % static_cast<std::size_t>(test.n)] : 0.0;
    ASSERT_NEAR(actual[i], expected[i] + start + added,
                1e-6 * (size[i] + std::fabs(start) + std::fabs(added)))
        << "element " << i;
  }
  if (test.c == Lie::slice && test.m > 0) {  // what lies beside the columns is as before
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(c.values()[i], around[i]);
    const auto end = static_cast<std::size_t>(3 + test.n);
    for (std::size_t i = end; i < end + 5; ++i) EXPECT_EQ(c.values()[i], around[i]);
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
              expect_like_reference({m, n, k, a, b, c, accumulate, bias});
}

TEST(Matmul, LayerShapes) {
  expect_like_reference(
      {128, 192, 256, Lie::plain, Lie::transposed, Lie::plain, false, true});  // forward
  expect_like_reference(
      {128, 256, 192, Lie::plain, Lie::plain, Lie::slice, false, false});  // input gradient
  expect_like_reference(
      {192, 256, 129, Lie::transposed, Lie::plain, Lie::plain, true, false});  // weight gradient
}

TEST(Matmul, NoRowsNoColumnsOrNothingToSum) {
  for (bool accumulate : {false, true})
    for (bool bias : {false, true}) {
      expect_like_reference({0, 5, 3, Lie::plain, Lie::plain, Lie::plain, accumulate, bias});
      expect_like_reference({4, 0, 3, Lie::plain, Lie::plain, Lie::plain, accumulate, bias});
      expect_like_reference({4, 5, 0, Lie::plain, Lie::plain, Lie::slice, accumulate, bias});
    }
}

TEST(Matmul, OneColumnOfAMatrix) {  // a view of stride (ld, ld): one row of its transpose
  const Matrix wide(9, 6, Lie::plain, 1);
  const Matrix b(9, 4, Lie::plain, 2);
  const Tensor row = wide.view().slice(1, 2, 1).transposed();
  std::vector<float> out(4);
  matmul(Stream(), Tensor(out.data(), {1, 4}), row, b.view());
  const auto expected = reference::matmul(test::to_double(row), test::to_double(b.view()), 1, 4, 9);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], expected[i], 1e-5);
}

TEST(Matmul,
     TheSameCallWithOtherMemory) {  // a cached primitive must not remember the memory it last saw
  for (unsigned seed : {1U, 2U}) {
    const Matrix a(6, 8, Lie::plain, seed);
    const Matrix b(8, 10, Lie::plain, seed + 10);
    std::vector<float> c(60);
    matmul(Stream(), Tensor(c.data(), {6, 10}), a.view(), b.view());
    const auto expected =
        reference::matmul(test::to_double(a.view()), test::to_double(b.view()), 6, 10, 8);
    for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], expected[i], 1e-5);
  }
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  const Matrix a(4, 5, Lie::plain, 1);
  const Matrix b(6, 3, Lie::plain, 2);
  const Matrix c(4, 3, Lie::plain, 3);
  EXPECT_THROW(matmul(Stream(), c.view(), a.view(), b.view()), Error);
  std::vector<std::int32_t> integers(15);
  EXPECT_THROW(matmul(Stream(), c.view(), a.view(), Tensor(integers.data(), {5, 3})), Error);
}

}  // namespace
}  // namespace triax
