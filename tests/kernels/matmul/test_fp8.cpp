// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/fp8.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/activation/elementwise.hpp"
#include "kernels/reference/fp8.hpp"
#include "kernels/reference/gelu.hpp"
#include "kernels/reference/matmul.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr DType f32 = DType::f32;
constexpr DType bf16 = DType::bf16;
constexpr double tolerance = 2e-6;  // of float32 sums

// Tolerance of products. A GPU's tensor cores add fp8 products with about 14 bits (measured on an
// H100: errors of up to 5e-5 of the root mean square; DeepSeek-V3, section 3.3.2, explains it).
double product_tolerance() {
  return test::on_a_gpu() ? 0x1p-13 : tolerance;
}

struct Matrix {
  std::int64_t rows, columns;
};
void PrintTo(const Matrix& matrix, std::ostream* out) {
  *out << matrix.rows << " x " << matrix.columns;
}

void transposing(const Stream& stream, const Tensor& to, const Tensor& scales, const Tensor& from,
                 Float8 format) {
  fp8_quantise(stream, to.transposed(), scales, from, format);
}

class Fp8Quantise : public testing::TestWithParam<std::tuple<DType, Float8, Matrix>> {
 protected:
  DType type = std::get<0>(GetParam());
  Float8 format = std::get<1>(GetParam());
  Matrix size = std::get<2>(GetParam());
  Shape shape = {size.rows, size.columns};
  // Values of every magnitude that the format distinguishes, and smaller ones.
  test::Array x = spread_out();
  test::Array scales = test::Array(f32, 2);
  std::vector<std::uint8_t> codes =
      std::vector<std::uint8_t>(static_cast<std::size_t>(size.rows * size.columns) + 16);

  test::Array spread_out() const {
    std::vector<float> values = test::random_values(size.rows * size.columns, 7);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::ldexp(values[i], -static_cast<int>(i % 40));
    return test::Array(type, values);
  }
  double scale() const { return reference::fp8_scale(format, x.doubles()); }
};

TEST_P(Fp8Quantise, Numbers) {
  test::Array y(type, x.count());
  test::run(fp8_quantise, y.tensor(shape), scales.tensor(), x.tensor(shape), format);
  EXPECT_EQ(y.doubles(), reference::fp8_quantise(format, x.doubles()));
  EXPECT_EQ(scales.doubles(), (std::vector<double>{1.0 / scale(), scale()}));
}

TEST_P(Fp8Quantise, Codes) {
  test::run(fp8_quantise, Tensor(codes.data(), shape), scales.tensor(), x.tensor(shape), format);
  const std::vector<double> values = x.doubles();
  const double factor = scale();
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(codes[i], reference::fp8_code(format, values[i] * factor)) << i;
}

TEST_P(Fp8Quantise, TransposedCodes) {
  test::run(transposing, Tensor(codes.data(), {size.columns, size.rows}), scales.tensor(),
            x.tensor(shape), format);
  const std::vector<double> values = x.doubles();
  const double factor = scale();
  for (std::int64_t r = 0; r < size.rows; ++r)
    for (std::int64_t c = 0; c < size.columns; ++c)
      ASSERT_EQ(codes[static_cast<std::size_t>(c * size.rows + r)],
                reference::fp8_code(
                    format, values[static_cast<std::size_t>(r * size.columns + c)] * factor))
          << r << ", " << c;
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Fp8Quantise,
                         testing::Combine(testing::Values(f32, bf16),
                                          testing::Values(Float8::e4m3, Float8::e5m2),
                                          testing::Values(Matrix{1, 1}, Matrix{3, 5},
                                                          Matrix{16, 16}, Matrix{80, 64},
                                                          Matrix{17, 130}, Matrix{144, 208})));

// All numbers of the format, both zeros, and values in between, on the host and on a GPU, which may
// have its own conversion. The largest number makes the scale 1.
TEST(Fp8, CodesOfEveryBfloat16InTheFormatsRange) {
  for (const Float8 format : {Float8::e4m3, Float8::e5m2}) {
    std::vector<float> values;
    for (std::uint32_t bits = 0; bits < 65536; ++bits)
      if (const auto value = std::bit_cast<float>(bits << 16U);
          std::fabs(value) <= format_of(format).largest())
        values.push_back(value);
    values.resize(values.size() / 16 * 16);
    values.back() = format_of(format).largest();
    const auto count = static_cast<std::int64_t>(values.size());
    test::Array x(bf16, values), scales(f32, 2);
    std::vector<std::uint8_t> codes(values.size()), transposed(values.size());
    test::run(fp8_quantise, Tensor(codes.data(), {count / 16, 16}), scales.tensor(),
              x.tensor({count / 16, 16}), format);
    test::run(transposing, Tensor(transposed.data(), {16, count / 16}), scales.tensor(),
              x.tensor({count / 16, 16}), format);
    EXPECT_EQ(scales.floats().front(), 1.0F);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const unsigned expected = reference::fp8_code(format, static_cast<double>(values[i]));
      ASSERT_EQ(codes[i], expected) << values[i];
      ASSERT_EQ(transposed[i % 16 * (values.size() / 16) + i / 16], expected) << values[i];
    }
  }
}

TEST(Fp8, ZerosStayAndWhatIsNotFiniteTakesAll) {
  test::Array x(bf16, 40), y(bf16, 40), scales(f32, 2);
  test::run(fp8_quantise, y.tensor({5, 8}), scales.tensor(), x.tensor({5, 8}), Float8::e4m3);
  EXPECT_EQ(y, x);
  EXPECT_EQ(scales.floats(), (std::vector<float>{1.0F, 1.0F}));
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    x.tensor().as<Bf16>()[33] = bad;
    test::run(fp8_quantise, y.tensor({5, 8}), scales.tensor(), x.tensor({5, 8}), Float8::e5m2);
    for (const float value : y.floats()) EXPECT_TRUE(std::isnan(value));
  }
}

// Regions of a matrix can be quantised apart, because scales are powers of two.
TEST(Fp8, PartsQuantisedApartAreThePartsOfTheWhole) {
  const test::Array x = test::Array::random(bf16, 4096, 3);
  std::vector<float> values = x.floats();
  for (float& value : values) value += value < 0.0F ? -0.05F : 0.05F;  // no value is very small
  for (std::size_t i = 2048; i < 4096; ++i) values[i] *= 8.0F;
  test::Array whole(bf16, values), together(bf16, 4096), apart(bf16, 4096), scales(f32, 2);
  const auto quantise = [&](test::Array& to, std::int64_t begin, std::int64_t count) {
    test::run(fp8_quantise, to.tensor().slice(0, begin, count), scales.tensor(),
              whole.tensor().slice(0, begin, count), Float8::e4m3);
  };
  quantise(together, 0, 4096);
  quantise(apart, 0, 2048);
  quantise(apart, 2048, 2048);
  EXPECT_EQ(together, apart);
}

struct Product {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
};
void PrintTo(const Product& p, std::ostream* out) {
  *out << p.m << " x " << p.n << " x " << p.k << (p.a_transposed ? " a^T" : "")
       << (p.b_transposed ? " b^T" : "");
}
// Sizes that cuBLASLt takes in fp8, that it has no algorithm for, and that it does not take.
std::vector<Product> products() {
  std::vector<Product> all;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {16, 32, 32}, {32, 16, 16}, {80, 48, 64}, {16, 32, 16}, {7, 16, 16}, {16, 24, 40}})
    for (const bool a : {false, true})
      for (const bool b : {false, true}) all.push_back({m, n, k, a, b});
  return all;
}

class Fp8Matmul : public testing::TestWithParam<std::tuple<DType, Product>> {
 protected:
  DType type = std::get<0>(GetParam());
  Product p = std::get<1>(GetParam());
  Shape a_shape = p.a_transposed ? Shape{p.k, p.m} : Shape{p.m, p.k};
  Shape b_shape = p.b_transposed ? Shape{p.n, p.k} : Shape{p.k, p.n};
  test::Array a = test::Array::random(type, p.m* p.k, 1);
  test::Array b = test::Array::random(type, p.k* p.n, 2, 0.02F);
  test::Array bias = test::Array::random(type, p.n, 3);
  // Constructed even if the test is skipped without a device.
  test::Scratch scratch{
      fp8_matmul_scratch_bytes(p.m, p.n, p.k, type) + bias_backward_scratch_bytes(p.k, p.n),
      device_count() == 0 ? MemorySpace::host : test::space()};

  Tensor left() { return p.a_transposed ? a.tensor(a_shape).transposed() : a.tensor(a_shape); }
  Tensor right() { return p.b_transposed ? b.tensor(b_shape).transposed() : b.tensor(b_shape); }
  static std::vector<double> quantised(const test::Array& x, Float8 format, const Shape& shape,
                                       bool transposed) {
    const std::vector<double> values = reference::fp8_quantise(format, x.doubles());
    if (!transposed) return values;
    std::vector<double> turned(values.size());
    for (std::int64_t r = 0; r < shape[0]; ++r)
      for (std::int64_t c = 0; c < shape[1]; ++c)
        turned[static_cast<std::size_t>(c * shape[0] + r)] =
            values[static_cast<std::size_t>(r * shape[1] + c)];
    return turned;
  }
  std::vector<double> product(const Float8Operands& formats) const {
    return reference::matmul(quantised(a, formats.a, a_shape, p.a_transposed),
                             quantised(b, formats.b, b_shape, p.b_transposed), p.m, p.n, p.k);
  }
};

void forward(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
             const Tensor& bias, const Tensor& hidden, Arena& scratch) {
  fp8_matmul(stream, c, a, b, {}, {.bias = bias, .gelu_input = hidden}, scratch);
}

TEST_P(Fp8Matmul, WithBiasAndGelu) {
  std::vector<double> expected = product({});
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] += bias.doubles()[i % static_cast<std::size_t>(p.n)];
  test::Array c(type, p.m * p.n), hidden(type, p.m * p.n);
  const Shape shape = {p.m, p.n};
  test::run(forward, c.tensor(shape), left(), right(), bias.tensor(), Tensor{}, scratch.arena());
  test::expect_close(c, expected, product_tolerance(), "c");
  EXPECT_EQ(scratch.arena().used(), 0U);
  EXPECT_EQ(scratch.arena().high_water(), fp8_matmul_scratch_bytes(p.m, p.n, p.k, type));

  test::Array active(type, p.m * p.n);
  test::run(forward, active.tensor(shape), left(), right(), bias.tensor(), hidden.tensor(shape),
            scratch.arena());
  if (test::on_a_gpu())  // cuBLASLt may round once more before it adds a bias
    test::expect_close(hidden, expected, product_tolerance() + test::rounding_of(type), "hidden");
  else
    EXPECT_EQ(hidden, c);
  test::expect_close(active.doubles(), reference::gelu_forward(expected),
                     product_tolerance() + 3 * test::rounding_of(type), "gelu");
}

void backward_input(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                    const Tensor& input, const Tensor& output, Arena& scratch) {
  fp8_matmul(stream, c, a, b, {Float8::e5m2, Float8::e4m3}, {.gelu_gradient = {input, output}},
             scratch);
}

TEST_P(Fp8Matmul, ThroughGelu) {
  test::Array c(type, p.m * p.n), output(type, p.m * p.n);
  test::Array input = test::Array::random(type, p.m * p.n, 5);
  const Shape shape = {p.m, p.n};
  test::run(backward_input, c.tensor(shape), left(), right(), input.tensor(shape),
            output.tensor(shape), scratch.arena());
  const auto before = product({Float8::e5m2, Float8::e4m3});
  const auto expected = reference::gelu_backward(before, input.doubles());
  // Errors of the product are relative to its own magnitude, and grow by GELU's steepest slope.
  // E5M2's terms differ more in magnitude than E4M3's: a tensor core's sum of them loses a bit
  // more.
  const double slope = 1.13;
  const double of_product = (test::on_a_gpu() ? 2.0 : 1.0) * slope *
                            test::root_mean_square(before) / test::root_mean_square(expected);
  test::expect_close(c.doubles(), expected,
                     of_product * product_tolerance() + 2 * test::rounding_of(type), "c");
  test::expect_close(output, reference::gelu_forward(input.doubles()), tolerance, "gelu again");
}

void backward_weight(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                     const Tensor& sums, Arena& scratch) {
  fp8_matmul(stream, c, a, b, {Float8::e4m3, Float8::e5m2},
             {.accumulate = true, .bias_gradient = {sums, BiasGradient::Of::b, true, &scratch}},
             scratch);
}

TEST_P(Fp8Matmul, OntoAGradientInFloat32) {
  const bool with_sums = !p.b_transposed;  // dy is row-major
  test::Array c = test::Array::random(f32, p.m * p.n, 8);
  test::Array sums = test::Array::random(f32, p.n, 9);
  std::vector<double> expected = product({Float8::e4m3, Float8::e5m2});
  test::add(expected, c.doubles());
  std::vector<double> expected_sums = reference::column_sums(b.doubles(), p.k, p.n);
  test::add(expected_sums, sums.doubles());
  if (!with_sums) expected_sums = sums.doubles();
  test::run(backward_weight, c.tensor({p.m, p.n}), left(), right(),
            with_sums ? sums.tensor() : Tensor{}, scratch.arena());
  test::expect_close(c, expected, product_tolerance(), "c");
  test::expect_close(sums, expected_sums, tolerance, "bias gradient, of what is not quantised");
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Fp8Matmul,
                         testing::Combine(testing::Values(f32, bf16),
                                          testing::ValuesIn(products())));

TEST(Fp8, RefusesWhatItCannot) {
  test::Array a(DType::f16, 256), wide(bf16, 512), c(bf16, 256);
  test::Scratch scratch(fp8_matmul_scratch_bytes(16, 16, 16, bf16));
  EXPECT_THROW(test::run(forward, a.tensor({16, 16}), a.tensor({16, 16}), a.tensor({16, 16}),
                         Tensor{}, Tensor{}, scratch.arena()),
               Error);
  EXPECT_THROW(test::run(forward, c.tensor({16, 16}), wide.tensor({16, 32}).slice(1, 0, 16),
                         c.tensor({16, 16}), Tensor{}, Tensor{}, scratch.arena()),
               Error);
}

}  // namespace
}  // namespace triax
