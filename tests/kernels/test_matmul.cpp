#include "kernels/matmul.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "kernels/base/isa.hpp"
#include "kernels/matmul/product.hpp"
#include "kernels/reference/matmul.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/matrix.hpp"
#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

// How the bytes of an operand lie: as they are, transposed, or as columns of a wider matrix.
enum class Lie { plain, transposed, slice };

// A matrix of (rows, columns) with random elements in one of those ways, rounded to `type`.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t columns, Lie lie, unsigned seed, DType type = DType::f32)
      : width_(lie == Lie::slice ? columns + before + after : columns),
        values_(type, test::random_values(rows * width_ + 1, seed)) {  // never null
    if (lie == Lie::transposed)
      view_ = values_.tensor({columns, rows}).transposed();
    else
      view_ = values_.tensor({rows, width_});
    whole_ = view_;
    if (lie == Lie::slice) view_ = view_.slice(1, before, columns);
  }
  const Tensor& view() const { return view_; }
  /// What lies beside the columns of the first row of a slice.
  std::vector<double> around() const {
    std::vector<double> row = test::to_double(whole_.slice(0, 0, 1));
    row.erase(row.begin() + before, row.begin() + before + view_.size(1));
    return row;
  }

 private:
  static constexpr std::int64_t before = 3;
  static constexpr std::int64_t after = 5;
  std::int64_t width_;
  test::Array values_;
  Tensor view_, whole_;
};

// c = a b + bias or c += a b + bias where this run computes.
void multiply(const Tensor& c, const Tensor& a, const Tensor& b,
              const MatmulOptions& options = {}) {
  const auto kernel = [](const Stream& stream, const Tensor& to, const Tensor& left,
                         const Tensor& right, const Tensor& bias, bool accumulate) {
    matmul(stream, to, left, right, {.accumulate = accumulate, .bias = bias});
  };
  test::run(+kernel, c, a, b, options.bias, options.accumulate);
}

std::vector<double> magnitudes(std::vector<double> values) {
  for (double& value : values) value = std::fabs(value);
  return values;
}

// Of a and b, of c, of the bias.
struct Types {
  DType operands = DType::f32;
  DType c = DType::f32;
  DType bias = DType::f32;
};

constexpr DType f32 = DType::f32;
constexpr DType bf16 = DType::bf16;
constexpr DType f16 = DType::f16;
constexpr Types all_types[] = {{f32, f32, f32},   {bf16, bf16, bf16}, {bf16, bf16, f32},
                               {bf16, f32, bf16}, {bf16, f32, f32},   {f16, f16, f16},
                               {f16, f16, f32},   {f16, f32, f16},    {f16, f32, f32}};

struct Case {
  std::int64_t m, n, k;
  Lie a, b, c;
  bool accumulate, bias;
};

// Each element within 1e-6 of the sum of the magnitudes of its terms, which is the rounding errors
// of float32 and nothing else, and one rounding to the type of c.
void expect_like_reference(const Case& test, const Types& types = {}) {
  SCOPED_TRACE(fmt::format("m {} n {} k {} a {} b {} c {} accumulate {} bias {} of {} {} {}",
                           test.m, test.n, test.k, int(test.a), int(test.b), int(test.c),
                           test.accumulate, test.bias, name_of(types.operands), name_of(types.c),
                           name_of(types.bias)));
  const Matrix a(test.m, test.k, test.a, 1, types.operands);
  const Matrix b(test.k, test.n, test.b, 2, types.operands);
  const Matrix c(test.m, test.n, test.c, 3, types.c);
  const Matrix bias(1, test.n, Lie::plain, 4, types.bias);
  const std::vector<double> before = test::to_double(c.view());
  const bool sliced = test.c == Lie::slice && test.m > 0;
  const std::vector<double> around = sliced ? c.around() : std::vector<double>();

  MatmulOptions options;
  options.accumulate = test.accumulate;
  if (test.bias) options.bias = bias.view().flat();
  multiply(c.view(), a.view(), b.view(), options);

  const auto da = test::to_double(a.view());
  const auto db = test::to_double(b.view());
  const auto dbias = test::to_double(bias.view());
  const auto product = reference::matmul(da, db, test.m, test.n, test.k);
  const auto size = reference::matmul(magnitudes(da), magnitudes(db), test.m, test.n, test.k);
  const auto actual = test::to_double(c.view());
  const double rounding = test::rounding_of(types.c);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double start = test.accumulate ? before[i] : 0.0;
    const double added = test.bias ? dbias[i % static_cast<std::size_t>(test.n)] : 0.0;
    const double expected = product[i] + start + added;
    ASSERT_NEAR(
        actual[i], expected,
        1e-6 * (size[i] + std::fabs(start) + std::fabs(added)) + rounding * std::fabs(expected))
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

// Longer than a block in each direction, and not by whole blocks.
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
  for (const auto& [m, n] : {std::pair{520, 3}, {3, 1030}})
    expect_like_reference({m, n, 8300, Lie::plain, Lie::plain, Lie::plain, true, true},
                          {bf16, bf16, bf16});
}

// What the order of the sums depends on is the same wherever the product runs.
TEST(Matmul, TheDepthOfBlocksDoesNotDependOnThreads) {
  for (const Types& types : all_types)
    for (const Lie lie : {Lie::plain, Lie::transposed}) {
      const Matrix a(700, 16500, lie, 1, types.operands);
      const Matrix b(16500, 8, Lie::plain, 2, types.operands);
      const Matrix c(700, 8, Lie::plain, 3, types.c);
      const gemm::Operands x{.c = c.view(), .a = a.view(), .b = b.view()};
      const std::int64_t depth = gemm::block_sizes(x, 1).k;
      EXPECT_LT(depth, 16500);
      for (const std::int64_t threads : {2, 3, 64})
        EXPECT_EQ(gemm::block_sizes(x, threads).k, depth);
    }
}

TEST(Matmul, TheSameBitsOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  for (const DType type : {f32, bf16})
    for (const Lie lie : {Lie::plain, Lie::transposed}) {
      const Matrix a(300, 8300, lie, 1, type);
      const Matrix b(8300, 260, lie, 2, type);
      std::vector<std::vector<double>> results;
      for (const int threads : {1, 2, 3}) {
        omp_set_num_threads(threads);
        const Matrix c(300, 260, Lie::plain, 3, type);
        multiply(c.view(), a.view(), b.view(), {.accumulate = true});
        results.push_back(test::to_double(c.view()));
      }
      EXPECT_EQ(results[1], results[0]);
      EXPECT_EQ(results[2], results[0]);
    }
  omp_set_num_threads(before);
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

TEST(Matmul, OneColumnOfAMatrix) {  // a view of stride (ld, ld): one row of its transpose
  for (DType type : {f32, bf16, f16}) {
    const Matrix wide(9, 6, Lie::plain, 1, type);
    const Matrix b(9, 4, Lie::plain, 2, type);
    const Tensor row = wide.view().slice(1, 2, 1).transposed();
    std::vector<float> out(4);
    multiply(Tensor(out.data(), {1, 4}), row, b.view());
    const auto expected =
        reference::matmul(test::to_double(row), test::to_double(b.view()), 1, 4, 9);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], expected[i], 1e-5);
  }
}

// A cached primitive, and memory kept for blocks, must not remember what they last saw.
TEST(Matmul, TheSameCallWithOtherMemory) {
  for (DType type : {f32, bf16, f16})
    for (unsigned seed : {1U, 2U}) {
      const Matrix a(6, 8, Lie::plain, seed, type);
      const Matrix b(8, 10, Lie::plain, seed + 10, type);
      std::vector<float> c(60);
      multiply(Tensor(c.data(), {6, 10}), a.view(), b.view());
      const auto expected =
          reference::matmul(test::to_double(a.view()), test::to_double(b.view()), 6, 10, 8);
      for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], expected[i], 1e-5);
    }
}

TEST(Matmul, TheSameBitsAgain) {
  for (const Types& types : all_types) {
    const Matrix a(65, 300, Lie::transposed, 1, types.operands);
    const Matrix b(300, 70, Lie::plain, 2, types.operands);
    const Matrix c(65, 70, Lie::plain, 3, types.c);
    multiply(c.view(), a.view(), b.view());
    const auto first = test::to_double(c.view());
    multiply(c.view(), a.view(), b.view());
    EXPECT_EQ(test::to_double(c.view()), first);
  }
}

// oneDNN itself takes a few small blocks at each call; nothing of ours is added.
TEST(Matmul, WarmCallsAllocateNothingOfOurs) {
  constexpr long of_onednn = 10;
  for (const Types& types : all_types) {
    const Matrix a(33, 40, Lie::plain, 1, types.operands);
    const Matrix b(40, 50, Lie::plain, 2, types.operands);
    const Matrix c(33, 50, Lie::plain, 3, types.c);
    const Matrix bias(1, 50, Lie::plain, 4, types.bias);
    const MatmulOptions options{.accumulate = true, .bias = bias.view().flat()};
    matmul(Stream(), c.view(), a.view(), b.view(), options);
    const long before = allocation_count();
    matmul(Stream(), c.view(), a.view(), b.view(), options);
    EXPECT_LE(allocation_count() - before, of_onednn);
  }
}

// That the tests run both ways: ctest runs them a second time with TRIAX_ISA=avx2, which holds
// oneDNN to that too.
TEST(Matmul, WhoMultipliesBfloat16) {
  const Matrix a(4, 5, Lie::plain, 1, bf16);
  const Matrix b(5, 3, Lie::plain, 2, bf16);
  const Matrix c(4, 3, Lie::plain, 3, bf16);
  const bool vendor = gemm::vendor_product({.c = c.view(), .a = a.view(), .b = b.view()});
  if (isa_in_use() == Isa::avx512_bf16) {
    EXPECT_TRUE(vendor);
  } else if (best_isa() == Isa::avx512_bf16 && isa_in_use() == Isa::avx2) {
    EXPECT_FALSE(vendor);
  }
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  const Matrix a(4, 5, Lie::plain, 1);
  const Matrix b(6, 3, Lie::plain, 2);
  const Matrix c(4, 3, Lie::plain, 3);
  EXPECT_THROW(multiply(c.view(), a.view(), b.view()), Error);
  std::vector<std::int32_t> integers(15);
  EXPECT_THROW(multiply(c.view(), a.view(), Tensor(integers.data(), {5, 3})), Error);
}

TEST(Matmul, RefusesOtherMixturesOfTypes) {
  const auto product = [](DType a, DType b, DType c, DType bias) {
    const Matrix left(4, 5, Lie::plain, 1, a);
    const Matrix right(5, 3, Lie::plain, 2, b);
    const Matrix out(4, 3, Lie::plain, 3, c);
    const Matrix row(1, 3, Lie::plain, 4, bias);
    multiply(out.view(), left.view(), right.view(), {.bias = row.view().flat()});
  };
  EXPECT_NO_THROW(product(bf16, bf16, f32, bf16));
  EXPECT_THROW(product(bf16, f32, f32, f32), Error);
  EXPECT_THROW(product(bf16, f16, f32, f32), Error);
  EXPECT_THROW(product(f32, f32, bf16, f32), Error);
  EXPECT_THROW(product(bf16, bf16, f16, bf16), Error);
  EXPECT_THROW(product(bf16, bf16, bf16, f16), Error);
  EXPECT_THROW(product(f32, f32, f32, bf16), Error);
}

}  // namespace
}  // namespace triax
