// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/orthogonal/orthogonalize.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/muon.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

class Orthogonalize : public testing::TestWithParam<Shape> {};

std::vector<float> orthogonal(std::vector<float> values, const Shape& shape,
                              const NewtonSchulz& options, double factor = 1.0) {
  test::Scratch scratch(orthogonalize_bytes(shape[0], shape[1]), test::space());
  test::run(orthogonalize, Tensor(values.data(), shape), options, factor, scratch.arena());
  return values;
}

std::vector<double> expected(const std::vector<float>& values, const Shape& shape,
                             const NewtonSchulz& options) {
  return reference::orthogonalize({static_cast<std::size_t>(shape[0]),
                                   static_cast<std::size_t>(shape[1]), test::widen(values)},
                                  options)
      .values;
}

TEST_P(Orthogonalize, AgreesWithDoublePrecision) {
  const std::vector<float> values = test::random_values(GetParam().elements(), 1);
  for (const NewtonSchulz& options :
       {NewtonSchulz{}, NewtonSchulz{.steps = 1}, NewtonSchulz{.a = 1.5, .b = -0.5, .c = 0.0},
        NewtonSchulz{.epsilon = 1e3}}) {
    const std::vector<float> found = orthogonal(values, GetParam(), options, 0.25);
    const std::vector<double> should = expected(values, GetParam(), options);
    for (std::size_t i = 0; i < should.size(); ++i)
      ASSERT_NEAR(found[i], 0.25 * should[i], 2e-5) << i;
  }
}

TEST_P(Orthogonalize, OfZerosIsZero) {
  const std::vector<float> zeros(static_cast<std::size_t>(GetParam().elements()));
  EXPECT_EQ(orthogonal(zeros, GetParam(), {}), zeros);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Orthogonalize,
                         testing::Values(Shape{1, 1}, Shape{3, 17}, Shape{17, 3}, Shape{64, 64},
                                         Shape{48, 130}, Shape{130, 48}));

// PyTorch's coefficients take singular values from 0.01 of the largest on into [0.6, 1.3].
TEST(NewtonSchulzIteration, BringsRowsNearlyToOrthogonalOnes) {
  constexpr std::int64_t rows = 8, columns = 64;
  const std::vector<float> found =
      orthogonal(test::random_values(rows * columns, 3), {rows, columns}, {});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < rows; ++j) {
      double dot = 0.0;
      for (std::int64_t k = 0; k < columns; ++k)
        dot += static_cast<double>(found[static_cast<std::size_t>(i * columns + k)]) *
               static_cast<double>(found[static_cast<std::size_t>(j * columns + k)]);
      EXPECT_NEAR(dot, i == j ? 1.0 : 0.0, 0.6) << i << " " << j;
    }
}

}  // namespace
}  // namespace triax
