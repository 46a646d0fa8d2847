// SPDX-License-Identifier: Apache-2.0
// Epilogues of a product: GELU, its gradient, and the gradient of a bias.
#include <gtest/gtest.h>

#include "kernels/activation/elementwise.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/reference/gelu.hpp"
#include "kernels/reference/matmul.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"
#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

constexpr DType f32 = DType::f32;
constexpr DType bf16 = DType::bf16;
constexpr double tolerance = 2e-6;  // of float32 sums, beside one rounding to each type on the way

struct Size {
  std::int64_t m, n, k;
};
void PrintTo(const Size& size, std::ostream* out) {
  *out << size.m << " x " << size.n << " x " << size.k;
}
// Rows with strides that a BLAS takes or does not take, and products for which the emulated BLAS
// has or lacks an algorithm.
constexpr Size sizes[] = {{1, 1, 1},   {3, 8, 4},    {5, 16, 9},    {7, 24, 10},
                          {17, 12, 5}, {64, 40, 33}, {130, 72, 50}, {33, 8, 64}};

// Expects elements within `tolerance` and `roundings` roundings to the type, relative to the
// element or its neighbours.
void expect_rounded(const test::Array& actual, const std::vector<double>& expected, int roundings,
                    const char* name) {
  const double off = test::with_coarse_math(actual.dtype(), tolerance) +
                     roundings * test::rounding_of(actual.dtype());
  test::expect_close(actual.doubles(), expected, off, name);
}

class MatmulGelu : public testing::TestWithParam<std::tuple<DType, Size>> {
 protected:
  DType type = std::get<0>(GetParam());
  Size size = std::get<1>(GetParam());
  test::Array a = test::Array::random(type, size.m* size.k, 1);
  test::Array b = test::Array::random(type, size.k* size.n, 2);
  test::Array bias = test::Array::random(type, size.n, 3);
  test::Array c = test::Array(type, size.m* size.n);
  test::Array beside = test::Array(type, size.m* size.n);

  Tensor left() { return a.tensor({size.m, size.k}); }
  Tensor right() { return b.tensor({size.k, size.n}); }
  Tensor matrix(test::Array& array) const { return array.tensor({size.m, size.n}); }
  std::vector<double> product() const {
    return reference::matmul(a.doubles(), b.doubles(), size.m, size.n, size.k);
  }
};

void with_gelu(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
               const Tensor& bias, const Tensor& input) {
  matmul(stream, c, a, b, {.bias = bias, .gelu_input = input});
}

TEST_P(MatmulGelu, IsOfProductAndBias) {
  for (const bool with_bias : {false, true}) {
    std::vector<double> input = product();
    for (std::size_t i = 0; with_bias && i < input.size(); ++i)
      input[i] += bias.doubles()[i % static_cast<std::size_t>(size.n)];
    test::run(with_gelu, matrix(c), left(), right(), with_bias ? bias.tensor() : Tensor{},
              matrix(beside));
    const int more = with_bias && test::on_a_gpu() ? 1 : 0;  // before cuBLASLt adds the bias
    expect_rounded(beside, input, 1 + more, "input");
    expect_rounded(c, reference::gelu_forward(input), 3 + more, "gelu");
  }
}

TEST_P(MatmulGelu, FromATransposedWeight) {
  test::run(with_gelu, matrix(c), left(), right(), bias.tensor(), matrix(beside));
  std::vector<float> turned(b.floats().size());
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const std::vector<float> values = b.floats();
  for (std::int64_t k = 0; k < size.k; ++k)
    for (std::int64_t n = 0; n < size.n; ++n)
      turned[at(n * size.k + k)] = values[at(k * size.n + n)];
  test::Array weight(type, turned);
  test::Array again(type, size.m * size.n);
  test::run(with_gelu, matrix(again), left(), weight.tensor({size.n, size.k}).transposed(),
            bias.tensor(), matrix(beside));
  test::expect_close(again, c.doubles(), tolerance + test::rounding_of(type), "gelu");
}

void with_gelu_gradient(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                        const Tensor& input, const Tensor& output) {
  matmul(stream, c, a, b, {.gelu_gradient = {input, output}});
}

// If a layer keeps GELU's output, its gradient does not recompute it.
TEST_P(MatmulGelu, GradientWithoutTheOutput) {
  test::Array input = test::Array::random(type, size.m * size.n, 5);
  test::Array without(type, size.m * size.n);
  test::run(with_gelu_gradient, matrix(c), left(), right(), matrix(input), matrix(beside));
  test::run(with_gelu_gradient, matrix(without), left(), right(), matrix(input), Tensor{});
  EXPECT_EQ(without, c);
}

TEST_P(MatmulGelu, GradientIsOfTheProduct) {
  test::Array input = test::Array::random(type, size.m * size.n, 5);
  const test::Array before = input;
  test::run(with_gelu_gradient, matrix(c), left(), right(), matrix(input), matrix(beside));
  expect_rounded(c, reference::gelu_backward(product(), input.doubles()), 2, "gradient");
  expect_rounded(beside, reference::gelu_forward(input.doubles()), 1, "gelu again");
  EXPECT_EQ(input, before);
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, MatmulGelu,
                         testing::Combine(test::every_type(), testing::ValuesIn(sizes)));

class MatmulBiasGradient : public testing::TestWithParam<std::tuple<test::TypePair, Size, bool>> {};

void with_bias_gradient(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                        const Tensor& sums, bool of_a, bool accumulate, Arena& scratch) {
  matmul(stream, c, a, b,
         {.accumulate = accumulate,
          .bias_gradient = {sums, of_a ? BiasGradient::Of::a : BiasGradient::Of::b, accumulate,
                            &scratch}});
}

// Gradients of a weight and its bias: dw = x^T dy or dy^T x, summed over K rows.
TEST_P(MatmulBiasGradient, IsTheColumnSumsOfAnOperand) {
  const auto [types, size, of_a] = GetParam();
  const auto [m, n, k] = size;
  test::Array a = test::Array::random(types.type, k * m, 1);  // (K, M)
  test::Array b = test::Array::random(types.type, k * n, 2);
  test::Array c = test::Array(types.gradients, m * n);
  test::Array sums = test::Array(types.gradients, of_a ? m : n);
  test::Scratch scratch(bias_backward_scratch_bytes(k, sums.count()));
  std::vector<double> expected =
      of_a ? reference::column_sums(a.doubles(), k, m) : reference::column_sums(b.doubles(), k, n);
  const std::vector<double> rows(a.doubles());
  std::vector<double> left(rows.size());
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < m; ++j)
      left[static_cast<std::size_t>(j * k + i)] = rows[static_cast<std::size_t>(i * m + j)];
  std::vector<double> product = reference::matmul(left, b.doubles(), m, n, k);
  for (const bool accumulate : {false, true}) {
    const std::vector<double> sums_before = sums.doubles();
    const std::vector<double> c_before = c.doubles();
    test::run(with_bias_gradient, c.tensor({m, n}), a.tensor({k, m}).transposed(), b.tensor({k, n}),
              sums.tensor(), of_a, accumulate, scratch.arena());
    std::vector<double> total = expected;
    std::vector<double> c_total = product;
    if (accumulate) {
      test::add(total, sums_before);
      test::add(c_total, c_before);
    }
    test::expect_close(sums, total, tolerance, "bias gradient");
    test::expect_close(c, c_total, tolerance, "product");
    EXPECT_EQ(scratch.arena().used(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, MatmulBiasGradient,
                         testing::Combine(test::every_type_pair(), testing::ValuesIn(sizes),
                                          testing::Bool()));

TEST(MatmulEpilogue, OfNoRows) {
  test::Array a(bf16, 4), b(bf16, 8), c(bf16, 32), beside(bf16, 32), sums(f32, 8, 3.0F);
  test::run(with_gelu, c.tensor({0, 8}), a.tensor({0, 1}), b.tensor({1, 8}), Tensor{},
            beside.tensor({0, 8}));
  test::Scratch scratch(bias_backward_scratch_bytes(0, 8));
  test::run(with_bias_gradient, c.tensor({4, 8}), a.tensor({4, 0}), b.tensor({0, 8}), sums.tensor(),
            false, false, scratch.arena());
  EXPECT_EQ(sums, test::Array(f32, 8, 0.0F));
}

TEST(MatmulEpilogue, RefusesWhatDoesNotFit) {
  test::Array a(bf16, 20), b(bf16, 15), c(bf16, 12), wide(f32, 12), other(bf16, 8);
  const auto product = [&](const Tensor& to, const MatmulOptions& options) {
    matmul(Stream(), to, a.tensor({4, 5}), b.tensor({5, 3}), options);
  };
  const Tensor out = c.tensor({4, 3});
  const Tensor fits = test::Array(bf16, 12).tensor({4, 3});
  EXPECT_THROW(product(out, {.accumulate = true, .gelu_input = fits}), Error);
  EXPECT_THROW(product(out, {.gelu_input = other.tensor({4, 2})}), Error);
  EXPECT_THROW(product(out, {.gelu_input = wide.tensor({4, 3})}), Error);
  EXPECT_THROW(product(wide.tensor({4, 3}), {.gelu_input = wide.tensor({4, 3})}), Error);
  EXPECT_THROW(product(out, {.gelu_input = fits, .gelu_gradient = {fits, fits}}), Error);
  EXPECT_THROW(product(out, {.bias = other.tensor().slice(0, 0, 3), .gelu_gradient = {fits, fits}}),
               Error);
  Arena arena;
  EXPECT_THROW(
      product(out, {.bias_gradient = {other.tensor(), BiasGradient::Of::b, false, &arena}}), Error);
  EXPECT_THROW(product(out, {.bias_gradient = {other.tensor().slice(0, 0, 3)}}), Error);
}

TEST(MatmulEpilogue, WarmCallsAllocateNothingOfOurs) {
  constexpr long of_onednn = 10;
  for (DType type : {f32, bf16, DType::f16}) {
    test::Array a(type, 8 * 16), b(type, 16 * 24), c(type, 8 * 24), beside(type, 8 * 24);
    const auto call = [&] {
      matmul(Stream(), c.tensor({8, 24}), a.tensor({8, 16}), b.tensor({16, 24}),
             {.gelu_input = beside.tensor({8, 24})});
    };
    call();
    const long before = allocation_count();
    call();
    EXPECT_LE(allocation_count() - before, of_onednn);
  }
}

}  // namespace
}  // namespace triax
