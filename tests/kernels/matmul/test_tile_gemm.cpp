// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/tile_gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reference/matmul.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// a (m, k) with the zeros of `triangle`, stored by rows or by columns.
std::vector<float> left_side(std::int64_t m, std::int64_t k, bool transposed, Triangle triangle) {
  std::vector<float> a = test::random_values(m * k, 1);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < k; ++j)
      if ((triangle == Triangle::a_lower && j > i) || (triangle == Triangle::a_upper && j < i))
        a[static_cast<std::size_t>(transposed ? j * m + i : i * k + j)] = 0.0F;
  return a;
}

void expect_like_reference(std::int64_t m, std::int64_t n, std::int64_t k, bool transposed,
                           bool accumulate, Triangle triangle) {
  SCOPED_TRACE(fmt::format("m {} n {} k {} transposed {} accumulate {} triangle {}", m, n, k,
                           transposed, accumulate, int(triangle)));
  const std::int64_t width = whole_vectors(n);
  std::vector<float> a = left_side(m, k, transposed, triangle);
  std::vector<float> b = test::random_values(k * width, 2);
  std::vector<float> c = test::random_values(m * width, 3);
  const Tensor a_view =
      transposed ? Tensor(a.data(), {k, m}).transposed() : Tensor(a.data(), {m, k});
  const auto expected = reference::matmul(
      test::to_double(a_view), test::to_double(Tensor(b.data(), {k, width})), m, width, k);
  const std::vector<float> before = c;
  if (!accumulate) std::fill(c.begin(), c.end(), nan);
  tile_product({.rows = m,
                .columns = n,
                .depth = k,
                .a = a.data(),
                .a_row_stride = a_view.stride(0),
                .a_depth_stride = a_view.stride(1),
                .b = b.data(),
                .b_stride = width,
                .c = c.data(),
                .c_stride = width,
                .accumulate = accumulate,
                .triangle = triangle});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < (triangle == Triangle::c_lower ? std::min(n, i + 1) : n); ++j) {
      const auto at = static_cast<std::size_t>(i * width + j);
      ASSERT_NEAR(c[at], expected[at] + (accumulate ? double{before[at]} : 0.0),
                  1e-6 * static_cast<double>(k + 4))
          << "row " << i << " column " << j;
    }
}

TEST(TileGemm, EveryBlockOfTheEdges) {  // sizes around the tile and the vector
  for (std::int64_t m = 1; m <= 13; ++m)
    for (std::int64_t n : {1, 8, 15, 16, 17, 40, 64, 65, 100})
      for (bool transposed : {false, true})
        expect_like_reference(m, n, 5, transposed, m % 2 == 0, Triangle::none);
}

TEST(TileGemm, Triangles) {
  for (std::int64_t size : {1, 6, 7, 33, 64})
    for (Triangle triangle : {Triangle::c_lower, Triangle::a_lower, Triangle::a_upper})
      for (bool accumulate : {false, true})
        for (bool transposed : {false, true})
          expect_like_reference(size, size, size, transposed, accumulate, triangle);
  expect_like_reference(40, 20, 64, true, false, Triangle::a_upper);
  expect_like_reference(64, 20, 40, false, false, Triangle::a_lower);
}

TEST(TileGemm, NothingToSum) {
  expect_like_reference(3, 20, 0, false, false, Triangle::none);
}

}  // namespace
}  // namespace triax
