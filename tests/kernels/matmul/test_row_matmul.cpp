// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/row_matmul.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <limits>

#include "kernels/reference/matmul.hpp"
#include "tests/kernels/matmul_operands.hpp"

namespace triax {
namespace {

using test::Lie;
using test::Matrix;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// b of a product as it is stored: inputs contiguous (transposed) or outputs contiguous.
class RowMatmul : public testing::TestWithParam<std::tuple<DType, Lie>> {
 protected:
  Matrix weights(std::int64_t k, std::int64_t n) const {
    return {k, n, std::get<1>(GetParam()), 2, std::get<0>(GetParam())};
  }
};
INSTANTIATE_TEST_SUITE_P(Types, RowMatmul,
                         testing::Combine(testing::Values(DType::f32, DType::bf16, DType::f16),
                                          testing::Values(Lie::plain, Lie::transposed)));

TEST_P(RowMatmul, IsTheProductAndTheBias) {
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {1, 70, 5},
                                                                        {2, 3, 16},
                                                                        {5, 64, 33},
                                                                        {7, 300, 100},
                                                                        {13, 17, 48},
                                                                        {80, 9, 700}}) {
    SCOPED_TRACE(fmt::format("m {} n {} k {}", m, n, k));
    const Matrix a(m, k, Lie::plain, 1), b = weights(k, n);
    std::vector<float> bias = test::random_values(n, 3), c(static_cast<std::size_t>(m * n), nan);
    row_matmul(Stream(MemorySpace::host), Tensor(c.data(), {m, n}), a.view(), b.view(),
               Tensor(bias.data(), {n}));
    const auto expected =
        reference::matmul(test::to_double(a.view()), test::to_double(b.view()), m, n, k);
    for (std::size_t i = 0; i < c.size(); ++i)
      ASSERT_NEAR(c[i], expected[i] + bias[i % static_cast<std::size_t>(n)],
                  1e-6 * static_cast<double>(k + 4))
          << i;
  }
}

// A row alone, among others, on any number of threads.
TEST_P(RowMatmul, RowsHaveTheSameBitsInAnyCompany) {
  constexpr std::int64_t m = 150, n = 333, k = 600;
  const Matrix a(m, k, Lie::plain, 1), b = weights(k, n);
  std::vector<float> whole(m * n), part(m * n);
  const Stream stream(MemorySpace::host);
  row_matmul(stream, Tensor(whole.data(), {m, n}), a.view(), b.view());
  const int threads = omp_get_max_threads();
  for (const std::int64_t rows : {1, 2, 3, 5, 7, 64, 149}) {
    omp_set_num_threads(rows % 2 == 0 ? 3 : 1);
    for (std::int64_t first = 0; first + rows <= m; first += rows) {
      row_matmul(stream, Tensor(part.data(), {rows, n}), a.view().slice(0, first, rows), b.view());
      ASSERT_TRUE(std::equal(part.begin(), part.begin() + rows * n, whole.begin() + first * n))
          << rows << " rows from " << first;
    }
  }
  omp_set_num_threads(threads);
}

TEST(RowMatmulCalls, NeedNoContiguousRows) {
  const Matrix a(9, 40, Lie::slice, 1), b(40, 20, Lie::slice, 2);
  Matrix c(9, 20, Lie::slice, 3);
  const std::vector<double> around = c.around();
  row_matmul(Stream(MemorySpace::host), c.view(), a.view(), b.view());
  const auto expected =
      reference::matmul(test::to_double(a.view()), test::to_double(b.view()), 9, 20, 40);
  const auto found = test::to_double(c.view());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 5e-5);
  EXPECT_EQ(c.around(), around);
}

TEST(RowMatmulCalls, RefusesWhatDoesNotFit) {
  std::vector<float> x(64);
  const Stream stream(MemorySpace::host);
  const Tensor a(x.data(), {2, 3}), b(x.data(), {4, 5}), c(x.data(), {2, 5});
  EXPECT_THROW(row_matmul(stream, c, a, b), std::exception);
}

}  // namespace
}  // namespace triax
