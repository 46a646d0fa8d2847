// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/layernorm.hpp"

#include <gtest/gtest.h>

#include "kernels/activation/elementwise.hpp"
#include "kernels/reference/layernorm.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr float epsilon = 1e-5F;
constexpr double tolerance = 2e-6;

struct Size {
  std::int64_t rows, columns;
};

class LayerNorm : public testing::TestWithParam<std::tuple<test::TypePair, Size>> {
 protected:
  test::Array random(std::int64_t count, unsigned seed) const {
    return test::Array::random(types.type, count, seed);
  }
  test::Array random_gradient(unsigned seed) const {
    return test::Array::random(types.gradients, columns, seed);
  }
  Tensor matrix(test::Array& values) { return values.tensor({rows, columns}); }

  void backward(test::Array& out, test::Array& upstream, const Tensor& residual, bool accumulate) {
    test::Scratch scratch(layernorm_scratch_bytes(rows, columns, test::space()));
    test::run(layernorm_backward, matrix(out), dweight.tensor(), dbias.tensor(), matrix(upstream),
              residual, matrix(x), weight.tensor(), epsilon, accumulate, scratch.arena());
    EXPECT_EQ(scratch.arena().used(), 0U);
    EXPECT_EQ(scratch.arena().high_water(), layernorm_scratch_bytes(rows, columns, test::space()));
  }

  reference::LayerNormGradients expected() const {
    return reference::layernorm_backward(dy.doubles(), x.doubles(), weight.doubles(), epsilon);
  }

  // Normally distributed numbers with a mean that is not zero.
  test::Array shifted() const {
    std::vector<float> values = test::random_values(rows * columns, 1);
    for (float& value : values) value = 3.0F * value + 0.5F;
    return test::Array(types.type, values);
  }

  test::TypePair types = std::get<0>(GetParam());
  std::int64_t rows = std::get<1>(GetParam()).rows;
  std::int64_t columns = std::get<1>(GetParam()).columns;
  test::Array x = shifted();
  test::Array dy = random(rows * columns, 2);
  test::Array weight = random(columns, 3);
  test::Array bias = random(columns, 4);
  test::Array dx = random(rows * columns, 5);  // previous contents must not show
  test::Array dweight = random_gradient(6);
  test::Array dbias = random_gradient(7);
};

TEST_P(LayerNorm, ForwardAgreesWithReference) {
  const auto expected =
      reference::layernorm_forward(x.doubles(), weight.doubles(), bias.doubles(), epsilon);
  test::run(layernorm_forward, matrix(dx), matrix(x), weight.tensor(), bias.tensor(), epsilon);
  test::expect_close(dx, expected, tolerance, "y");
  test::run(layernorm_forward, matrix(x), matrix(x), weight.tensor(), bias.tensor(), epsilon);
  EXPECT_EQ(x, dx) << "in place";
}

TEST_P(LayerNorm, OfAResidualSumIsThatOfTheSum) {
  test::Array added = random(columns, 8), sum = dx, y = dx, apart = dx;
  for (const bool with_bias : {true, false}) {
    const Tensor joins = with_bias ? added.tensor() : Tensor{};
    test::run(residual_forward, matrix(apart), matrix(x), matrix(dy), joins);
    test::run(layernorm_forward, matrix(dx), matrix(apart), weight.tensor(), bias.tensor(),
              epsilon);
    test::run(residual_layernorm_forward, matrix(y), matrix(sum), matrix(x), matrix(dy), joins,
              weight.tensor(), bias.tensor(), epsilon);
    EXPECT_EQ(sum, apart);
    EXPECT_EQ(y, dx);
  }
  test::run(residual_layernorm_forward, matrix(y), matrix(x), matrix(x), matrix(dy), Tensor{},
            weight.tensor(), bias.tensor(), epsilon);
  EXPECT_EQ(x, apart) << "the sum may be x";
  EXPECT_EQ(y, dx);
}

TEST_P(LayerNorm, BackwardAgreesWithReference) {
  backward(dx, dy, {}, false);
  const auto gradients = expected();
  test::expect_close(dx, gradients.dx, tolerance, "dx");
  test::expect_close(dweight, gradients.dweight, tolerance, "dweight");
  test::expect_close(dbias, gradients.dbias, tolerance, "dbias");
}

TEST_P(LayerNorm, BackwardAddsResidualAndAccumulates) {
  test::Array residual = random(rows * columns, 8);
  auto gradients = expected();
  test::add(gradients.dx, residual.doubles());
  test::add(gradients.dweight, dweight.doubles());
  test::add(gradients.dbias, dbias.doubles());
  const auto dweight_before = dweight;
  const auto dbias_before = dbias;
  backward(dx, dy, matrix(residual), true);
  test::expect_close(dx, gradients.dx, tolerance, "dx");
  test::expect_close(dweight, gradients.dweight, tolerance, "dweight");
  test::expect_close(dbias, gradients.dbias, tolerance, "dbias");

  const auto dweight_after = dweight;
  dweight = dweight_before;
  dbias = dbias_before;
  backward(residual, dy, matrix(residual), true);
  EXPECT_EQ(residual, dx) << "dx may be the residual";
  EXPECT_EQ(dweight, dweight_after) << "every run gives the same bits";
}

TEST_P(LayerNorm, BackwardLeavesOutGradientsOfFrozenParameters) {
  backward(dx, dy, {}, false);
  for (const bool of_weight : {false, true})
    for (const bool of_bias : {false, true}) {
      test::Array input_gradient = random(rows * columns, 9);
      test::Array gain = random_gradient(10), shift = random_gradient(11);
      test::Scratch scratch(layernorm_scratch_bytes(rows, columns, test::space()));
      test::run(layernorm_backward, matrix(input_gradient), of_weight ? gain.tensor() : Tensor{},
                of_bias ? shift.tensor() : Tensor{}, matrix(dy), Tensor{}, matrix(x),
                weight.tensor(), epsilon, false, scratch.arena());
      EXPECT_EQ(input_gradient, dx);
      EXPECT_EQ(gain, of_weight ? dweight : random_gradient(10));
      EXPECT_EQ(shift, of_bias ? dbias : random_gradient(11));
    }
}

TEST_P(LayerNorm, BackwardOverUpstreamGradient) {
  backward(dx, dy, {}, false);
  backward(dy, dy, {}, false);
  EXPECT_EQ(dy, dx);
}

TEST_P(LayerNorm, StridedRows) {
  test::Array wide = test::spread(x, columns, columns + 3, 7.0F);
  test::Array out = test::spread(dx, columns, columns + 3, 7.0F);
  const auto view = [&](test::Array& values) {
    return values.tensor({rows, columns + 3}).slice(1, 0, columns);
  };
  test::run(layernorm_forward, view(out), view(wide), weight.tensor(), bias.tensor(), epsilon);
  test::run(layernorm_forward, matrix(dx), matrix(x), weight.tensor(), bias.tensor(), epsilon);
  EXPECT_EQ(out, test::spread(dx, columns, columns + 3, 7.0F));
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, LayerNorm,
                         testing::Combine(test::every_type_pair(),
                                          testing::Values(Size{1, 7}, Size{1, 64}, Size{3, 37},
                                                          Size{65, 128}, Size{200, 33},
                                                          Size{7, 1600})));

TEST(LayerNormBackward, RefusesMixedTypes) {
  test::Array x(DType::bf16, 8);
  test::Array other(DType::f32, 8);
  test::Array row(DType::bf16, 4);
  EXPECT_THROW(test::run(layernorm_forward, x.tensor({2, 4}), other.tensor({2, 4}), row.tensor(),
                         row.tensor(), epsilon),
               Error);
}

TEST(LayerNormBackward, ADeviceTakesMoreScratchWhereRowsAreFew) {
  EXPECT_EQ(layernorm_scratch_bytes(8192, 768, MemorySpace::device),
            4 * layernorm_scratch_bytes(8192, 768));
  EXPECT_EQ(layernorm_scratch_bytes(65536, 768, MemorySpace::device),
            layernorm_scratch_bytes(65536, 768));
}

TEST(LayerNormBackward, NoRowsClearGradients) {
  std::vector<float> weight(4, 1.0F);
  std::vector<float> dweight(4, 5.0F);
  std::vector<float> dbias(4, 5.0F);
  float nothing = 0.0F;
  const Tensor none(&nothing, {0, 4});
  test::Scratch scratch(64);
  test::run(layernorm_backward, none, Tensor(dweight.data(), {4}), Tensor(dbias.data(), {4}), none,
            {}, none, Tensor(weight.data(), {4}), epsilon, false, scratch.arena());
  EXPECT_EQ(dweight, std::vector<float>(4, 0.0F));
  EXPECT_EQ(dbias, std::vector<float>(4, 0.0F));
}

TEST(LayerNormReference, GradientsAreThoseOfTheForwardPass) {
  const auto x = test::widen(test::random_values(3 * 8, 1));
  const auto dy = test::widen(test::random_values(3 * 8, 2));
  const auto weight = test::widen(test::random_values(8, 3));
  const auto bias = test::widen(test::random_values(8, 4));
  const auto gradients = reference::layernorm_backward(dy, x, weight, epsilon);
  using Values = std::vector<double>;
  const auto loss = [&](const Values& at, const Values& gain, const Values& shift) {
    return test::dot(reference::layernorm_forward(at, gain, shift, epsilon), dy);
  };
  test::expect_gradient([&](const Values& v) { return loss(v, weight, bias); }, x, gradients.dx,
                        "dx");
  test::expect_gradient([&](const Values& v) { return loss(x, v, bias); }, weight,
                        gradients.dweight, "dweight");
  test::expect_gradient([&](const Values& v) { return loss(x, weight, v); }, bias, gradients.dbias,
                        "dbias");
}

// Rows may be computed side by side; the bits of each stay the same.
TEST(LayerNorm, RowsTogetherAreRowsAlone) {
  constexpr std::int64_t rows = 7;
  for (const DType type : {DType::f32, DType::bf16, DType::f16})
    for (const std::int64_t columns : {5, 17, 100, 108, 1000}) {
      const std::int64_t count = rows * columns;
      test::Array x = test::Array::random(type, count, 1);
      test::Array dy = test::Array::random(type, count, 2);
      test::Array residual = test::Array::random(type, count, 3);
      test::Array weight = test::Array::random(type, columns, 4);
      test::Array bias = test::Array::random(type, columns, 5);
      test::Array together(type, count), alone(type, count);
      test::Array y_together(type, count), y_alone(type, count);
      test::Array dweight(DType::f32, columns), dbias(DType::f32, columns);
      const auto both_ways = [&](test::Array& y, test::Array& dx, std::int64_t first,
                                 std::int64_t of) {
        const auto part = [&](test::Array& array) {
          return array.tensor({rows, columns}).slice(0, first, of);
        };
        test::Scratch scratch(layernorm_scratch_bytes(of, columns, test::space()));
        test::run(layernorm_forward, part(y), part(x), weight.tensor(), bias.tensor(), epsilon);
        test::run(layernorm_backward, part(dx), dweight.tensor(), dbias.tensor(), part(dy),
                  part(residual), part(x), weight.tensor(), epsilon, false, scratch.arena());
      };
      both_ways(y_together, together, 0, rows);
      for (std::int64_t row = 0; row < rows; ++row) both_ways(y_alone, alone, row, 1);
      EXPECT_EQ(y_together, y_alone) << columns << " columns";
      EXPECT_EQ(together, alone) << columns << " columns";
    }
}

// Rows far from zero, rows whose first elements (from which deviations are taken) are outliers,
// rising rows, and on the host a constant row: a device subtracts the whole mean, whose rounding
// error would be many standard deviations there.
std::vector<std::vector<float>> awkward_rows(std::int64_t columns) {
  std::vector<float> far = test::random_values(columns, 1);
  for (float& value : far) value += 4096.0F;
  std::vector<float> outliers = test::random_values(columns, 2);
  for (std::size_t i = 0; i < 64; ++i) outliers[i] += 1e4F;
  std::vector<float> ramp(static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = 1e3F + static_cast<float>(i * i);
  std::vector<std::vector<float>> rows = {far, outliers, ramp};
  if (test::space() == MemorySpace::host) rows.emplace_back(ramp.size(), 949.1F);
  return rows;
}

double largest_difference(const test::Array& found, const std::vector<double>& expected) {
  double worst = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::fabs(found.doubles()[i] - expected[i]));
  return worst;
}

// A row whose squares overflow gives NaN. With zeros, the bias alone would let training continue
// unnoticed.
TEST(LayerNorm, OfARowThatOverflowsIsNotANumber) {
  constexpr std::int64_t columns = 100;
  for (const DType type : {DType::f32, DType::bf16}) {
    std::vector<float> values(columns, 1e20F);
    values.front() = -1e20F;
    test::Array x(type, values), y(type, columns), ones(type, std::vector<float>(columns, 1.0F));
    test::run(layernorm_forward, y.tensor({1, columns}), x.tensor({1, columns}), ones.tensor(),
              ones.tensor(), epsilon);
    for (const double value : y.doubles()) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(LayerNorm, KeepsItsPrecisionWhateverTheRow) {
  constexpr std::int64_t columns = 1000;
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    test::Array weight = test::Array::random(type, columns, 3),
                dy = test::Array::random(type, columns, 4);
    test::Array bias(type, columns), y(type, columns), dx(type, columns);
    test::Array dweight(DType::f32, columns), dbias(DType::f32, columns);
    const double rounding = type == DType::f32
                                ? (test::space() == MemorySpace::host ? 5e-6 : 1.5e-3)
                            : type == DType::bf16 ? 1e-2
                                                  : 2e-3;
    for (std::vector<float>& values : awkward_rows(columns)) {
      if (type == DType::f16)
        for (float& value : values) value = std::min(value, 6e4F);
      test::Array x(type, values);
      const auto matrix = [&](test::Array& of) { return of.tensor({1, columns}); };
      test::run(layernorm_forward, matrix(y), matrix(x), weight.tensor(), bias.tensor(), epsilon);
      const auto expected =
          reference::layernorm_forward(x.doubles(), weight.doubles(), bias.doubles(), epsilon);
      double size = 1.0;
      for (const double value : expected) size = std::max(size, std::fabs(value));
      EXPECT_LT(largest_difference(y, expected), rounding * size) << values[0];
      test::Scratch scratch(layernorm_scratch_bytes(1, columns, test::space()));
      test::run(layernorm_backward, matrix(dx), dweight.tensor(), dbias.tensor(), matrix(dy),
                Tensor{}, matrix(x), weight.tensor(), epsilon, false, scratch.arena());
      const auto gradients =
          reference::layernorm_backward(dy.doubles(), x.doubles(), weight.doubles(), epsilon);
      size = 1e-3;
      for (const double value : gradients.dx) size = std::max(size, std::fabs(value));
      EXPECT_LT(largest_difference(dx, gradients.dx), 2 * rounding * size) << values[0];
    }
  }
}

}  // namespace
}  // namespace triax
