// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/qk_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference/qk_norm.hpp"
#include "kernels/reference/rmsnorm.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr float epsilon = 1e-5F;
constexpr double tolerance = 2e-6;

struct Size {
  std::int64_t rows, groups, head;
};

class QkNorm : public testing::TestWithParam<std::tuple<test::TypePair, Size, float>> {
 protected:
  test::Array random(std::int64_t count, unsigned seed) const {
    return test::Array::random(types.type, count, seed);
  }
  Tensor heads(test::Array& values) const {
    return values.tensor({size.rows, size.groups, size.head});
  }
  Tensor of_heads(test::Array& values) const { return values.tensor({size.rows, size.groups}); }

  // Heads with 3 numbers behind each, and rows with 5 more: as queries in a row of q, k and v.
  static constexpr std::int64_t behind_head = 3, behind_row = 5;
  std::int64_t wide_row() const { return size.groups * (size.head + behind_head) + behind_row; }
  test::Array strided(const test::Array& values, float fill) const {
    const test::Array apart = test::spread(values, size.head, size.head + behind_head, fill);
    return test::spread(apart, size.groups * (size.head + behind_head), wide_row(), fill);
  }
  Tensor strided_heads(test::Array& values) const {
    return values.tensor({size.rows, wide_row()})
        .restrided({size.rows, size.groups, size.head}, {wide_row(), size.head + behind_head, 1});
  }

  void forward_sums() { test::run(qk_norm_sums, of_heads(sums), heads(x)); }
  void gradient_sums() {
    test::run(qk_norm_gradient_sums, of_heads(dots), heads(dy), heads(x), weight.tensor(), offset);
  }
  void backward(const Tensor& to, const Tensor& upstream, const Tensor& from, bool accumulate) {
    test::Scratch scratch(qk_norm_scratch_bytes(size.rows, size.groups, size.head, test::space()));
    test::run(qk_norm_backward, to, dweight.tensor(), upstream, from, weight.tensor(),
              of_heads(sums), of_heads(dots), width, epsilon, offset, accumulate, scratch.arena());
    EXPECT_EQ(scratch.arena().used(), 0U);
  }
  std::vector<double> gain() const {
    std::vector<double> out = weight.doubles();
    for (double& value : out) value += double{offset};
    return out;
  }
  reference::QkNormGradients expected() const {
    return reference::qk_norm_backward(dy.doubles(), x.doubles(), gain(), sums.doubles(),
                                       dots.doubles(), static_cast<double>(width), epsilon);
  }

  test::TypePair types = std::get<0>(GetParam());
  Size size = std::get<1>(GetParam());
  float offset = std::get<2>(GetParam());
  std::int64_t count = size.rows * size.groups * size.head;
  std::int64_t width = size.head;
  test::Array x = random(count, 1);
  test::Array dy = random(count, 2);
  test::Array weight = random(size.head, 3);
  test::Array y = random(count, 4);  // previous contents must not show
  test::Array dx = random(count, 5);
  test::Array dweight = test::Array::random(types.gradients, size.head, 6);
  test::Array sums = test::Array::random(DType::f32, size.rows* size.groups, 7);
  test::Array dots = sums;
};

TEST_P(QkNorm, ForwardAgreesWithReference) {
  forward_sums();
  test::expect_close(sums, reference::qk_norm_sums(x.doubles(), weight.doubles().size()), tolerance,
                     "sums");
  const auto expected = reference::qk_norm_forward(x.doubles(), gain(), sums.doubles(),
                                                   static_cast<double>(width), epsilon);
  test::run(qk_norm_forward, heads(y), heads(x), weight.tensor(), of_heads(sums), width, epsilon,
            offset);
  test::expect_close(y, expected, tolerance, "y");
  test::run(qk_norm_forward, heads(x), heads(x), weight.tensor(), of_heads(sums), width, epsilon,
            offset);
  EXPECT_EQ(x, y) << "y may be x";
}

TEST_P(QkNorm, BackwardAgreesWithReference) {
  forward_sums();
  gradient_sums();
  test::expect_close(dots, reference::qk_norm_gradient_sums(dy.doubles(), x.doubles(), gain()),
                     tolerance, "dots");
  auto gradients = expected();
  const test::Array before = dweight;
  backward(heads(dx), heads(dy), heads(x), false);
  test::expect_close(dx, gradients.dx, tolerance, "dx");
  test::expect_close(dweight, gradients.dweight, tolerance, "dweight");

  test::Array frozen = random(count, 8);
  test::Scratch scratch(qk_norm_scratch_bytes(size.rows, size.groups, size.head, test::space()));
  test::run(qk_norm_backward, heads(frozen), Tensor{}, heads(dy), heads(x), weight.tensor(),
            of_heads(sums), of_heads(dots), width, epsilon, offset, false, scratch.arena());
  EXPECT_EQ(frozen, dx) << "of a frozen weight";

  dweight = before;
  test::add(gradients.dweight, before.doubles());
  backward(heads(dy), heads(dy), heads(x), true);
  EXPECT_EQ(dy, dx) << "dx may be dy";
  test::expect_close(dweight, gradients.dweight, tolerance, "accumulated dweight");
}

TEST_P(QkNorm, HeadsInsideWiderRows) {
  test::Array wide_x = strided(x, 7.0F), wide_dy = strided(dy, 8.0F);
  test::Array wide_sums = sums, wide_dots = dots;
  forward_sums();
  gradient_sums();
  test::run(qk_norm_sums, of_heads(wide_sums), strided_heads(wide_x));
  EXPECT_EQ(wide_sums, sums);
  test::run(qk_norm_gradient_sums, of_heads(wide_dots), strided_heads(wide_dy),
            strided_heads(wide_x), weight.tensor(), offset);
  EXPECT_EQ(wide_dots, dots);

  backward(heads(dx), heads(dy), heads(x), false);
  const test::Array of_contiguous = dweight;
  backward(strided_heads(wide_dy), strided_heads(wide_dy), strided_heads(wide_x), false);
  // A device reads unaligned heads by other instructions, which may round a product less.
  test::expect_close(wide_dy, strided(dx, 8.0F).doubles(), 1e-6 + test::rounding_of(dx.dtype()),
                     "dy inside wider rows");
  EXPECT_EQ(dweight, of_contiguous);

  test::run(qk_norm_forward, heads(y), heads(x), weight.tensor(), of_heads(sums), width, epsilon,
            offset);
  test::run(qk_norm_forward, strided_heads(wide_x), strided_heads(wide_x), weight.tensor(),
            of_heads(sums), width, epsilon, offset);
  EXPECT_EQ(wide_x, strided(y, 7.0F));
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, QkNorm,
                         testing::Combine(test::every_type_pair(),
                                          testing::Values(Size{1, 1, 7}, Size{3, 2, 64},
                                                          Size{65, 3, 33}, Size{130, 1, 128},
                                                          Size{7, 5, 256}, Size{2, 1, 1600}),
                                          testing::Values(0.0F, 1.0F)));

// Two tensor ranks normalise each row of heads together: they add their sums and their dots.
TEST(QkNormOfShards, IsTheNormOfTheWholeRow) {
  constexpr std::int64_t rows = 9, half = 40, whole = 2 * half;
  test::Array x = test::Array::random(DType::f32, rows * whole, 1);
  test::Array dy = test::Array::random(DType::f32, rows * whole, 2);
  test::Array weight = test::Array::random(DType::f32, whole, 3);
  test::Array y(DType::f32, rows * whole), dx = y, dweight(DType::f32, whole);
  const auto shard = [&](test::Array& of, std::int64_t s) {
    return of.tensor({rows, 1, whole}).slice(2, s * half, half);
  };
  const auto of_weight = [&](test::Array& of, std::int64_t s) {
    return of.tensor().slice(0, s * half, half);
  };
  const Shape row_sums = {rows, 1};
  const auto added = [](const test::Array& a, const test::Array& b) {
    std::vector<float> sum = a.floats();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b.floats()[i];
    return test::Array(DType::f32, sum);
  };
  test::Array sums[2] = {{DType::f32, rows}, {DType::f32, rows}}, dots[2] = {sums[0], sums[0]};
  for (std::int64_t s = 0; s < 2; ++s) {
    test::run(qk_norm_sums, sums[s].tensor(row_sums), shard(x, s));
    test::run(qk_norm_gradient_sums, dots[s].tensor(row_sums), shard(dy, s), shard(x, s),
              of_weight(weight, s), 0.0F);
  }
  test::Array all_sums = added(sums[0], sums[1]), all_dots = added(dots[0], dots[1]);
  test::Scratch scratch(qk_norm_scratch_bytes(rows, 1, half, test::space()));
  for (std::int64_t s = 0; s < 2; ++s) {
    test::run(qk_norm_forward, shard(y, s), shard(x, s), of_weight(weight, s),
              all_sums.tensor(row_sums), whole, epsilon, 0.0F);
    test::run(qk_norm_backward, shard(dx, s), of_weight(dweight, s), shard(dy, s), shard(x, s),
              of_weight(weight, s), all_sums.tensor(row_sums), all_dots.tensor(row_sums), whole,
              epsilon, 0.0F, false, scratch.arena());
  }
  test::expect_close(y, reference::rmsnorm_forward(x.doubles(), weight.doubles(), epsilon),
                     tolerance, "y");
  const auto gradients =
      reference::rmsnorm_backward(dy.doubles(), x.doubles(), weight.doubles(), epsilon);
  test::expect_close(dx, gradients.dx, tolerance, "dx");
  test::expect_close(dweight, gradients.dweight, tolerance, "dweight");
}

// A head whose squares overflow gives NaN. Zeros would let training continue unnoticed.
TEST(QkNormAlone, OfAHeadThatOverflowsIsNotANumber) {
  constexpr std::int64_t head = 100;
  for (const DType type : {DType::f32, DType::bf16}) {
    test::Array x(type, head, -1e20F), y(type, head), ones(type, head, 1.0F);
    test::Array sums(DType::f32, 1);
    test::run(qk_norm_sums, sums.tensor({1, 1}), x.tensor({1, 1, head}));
    test::run(qk_norm_forward, y.tensor({1, 1, head}), x.tensor({1, 1, head}), ones.tensor(),
              sums.tensor({1, 1}), head, epsilon, 0.0F);
    for (const double value : y.doubles()) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(QkNormAlone, RefusesOtherShapes) {
  test::Array x(DType::f32, 24), sums(DType::f32, 6);
  EXPECT_THROW(test::run(qk_norm_sums, sums.tensor({2, 3}), x.tensor({4, 6})), Error);
  EXPECT_THROW(test::run(qk_norm_sums, sums.tensor({2, 3}), x.tensor({2, 2, 6})), Error);
}

TEST(QkNormReference, GradientsAreThoseOfTheForwardPass) {
  constexpr std::size_t head = 8;
  const auto x = test::widen(test::random_values(5 * head, 1));
  const auto dy = test::widen(test::random_values(5 * head, 2));
  const auto weight = test::widen(test::random_values(head, 3));
  using Values = std::vector<double>;
  const auto loss = [&](const Values& at, const Values& gain) {
    const Values sums = reference::qk_norm_sums(at, head);
    return test::dot(reference::qk_norm_forward(at, gain, sums, head, epsilon), dy);
  };
  const auto gradients =
      reference::qk_norm_backward(dy, x, weight, reference::qk_norm_sums(x, head),
                                  reference::qk_norm_gradient_sums(dy, x, weight), head, epsilon);
  test::expect_gradient([&](const Values& v) { return loss(v, weight); }, x, gradients.dx, "dx");
  test::expect_gradient([&](const Values& v) { return loss(x, v); }, weight, gradients.dweight,
                        "dweight");
}

}  // namespace
}  // namespace triax
