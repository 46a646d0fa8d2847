// SPDX-License-Identifier: Apache-2.0
#include "src/analyze/singular_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "kernels/base/device/device.hpp"
#include "kernels/base/splitmix.hpp"
#include "kernels/matmul/matmul.hpp"

namespace triax {
namespace {

constexpr int extra = 8;   // columns beyond those asked for
constexpr int rounds = 3;  // of subspace iteration

// A matrix in row-major order.
struct Matrix {
  std::int64_t rows, columns;
  std::vector<float> values;
  Matrix(std::int64_t m, std::int64_t n)
      : rows(m), columns(n), values(static_cast<std::size_t>(m * n)) {}
  Tensor tensor() { return {values.data(), {rows, columns}}; }
  float& at(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

// Columns of nearly normal numbers: sums of uniform ones.
Matrix random_matrix(std::int64_t rows, std::int64_t columns) {
  Matrix out(rows, columns);
  std::uint64_t counter = 0;
  for (float& value : out.values) {
    double sum = -2.0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>(splitmix64(++counter) >> 11U) * 0x1p-53;
    value = static_cast<float>(sum);
  }
  return out;
}

// Makes the columns orthonormal; columns that depend on those before become zero. Twice, as the
// first pass leaves rounding of nearly equal columns.
void orthonormalize(Matrix& q) {
  for (std::int64_t j = 0; j < q.columns; ++j) {
    double before = 0.0;
    for (std::int64_t i = 0; i < q.rows; ++i) before += double{q.at(i, j)} * q.at(i, j);
    for (int pass = 0; pass < 2; ++pass)
      for (std::int64_t k = 0; k < j; ++k) {
        double dot = 0.0;
        for (std::int64_t i = 0; i < q.rows; ++i) dot += double{q.at(i, k)} * q.at(i, j);
        for (std::int64_t i = 0; i < q.rows; ++i)
          q.at(i, j) -= static_cast<float>(dot * q.at(i, k));
      }
    double squares = 0.0;
    for (std::int64_t i = 0; i < q.rows; ++i) squares += double{q.at(i, j)} * q.at(i, j);
    const double scale = squares > 1e-10 * before ? 1.0 / std::sqrt(squares) : 0.0;
    for (std::int64_t i = 0; i < q.rows; ++i) q.at(i, j) = static_cast<float>(scale * q.at(i, j));
  }
}

// Eigenvalues of a symmetric matrix by Jacobi rotations.
std::vector<double> eigenvalues(std::vector<double> a, std::size_t n) {
  const auto at = [&](std::size_t i, std::size_t j) -> double& { return a[i * n + j]; };
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0.0, diagonal = 0.0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) (i == j ? diagonal : off) += at(i, j) * at(i, j);
    if (off <= 1e-26 * diagonal) break;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (at(p, q) == 0.0) continue;
        const double theta = (at(q, q) - at(p, p)) / (2.0 * at(p, q));
        const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(theta, 1.0));
        const double c = 1.0 / std::hypot(t, 1.0), s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const double kp = at(k, p), kq = at(k, q);
          at(k, p) = c * kp - s * kq;
          at(k, q) = s * kp + c * kq;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double pk = at(p, k), qk = at(q, k);
          at(p, k) = c * pk - s * qk;
          at(q, k) = s * pk + c * qk;
        }
      }
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(at(i, i));
  std::ranges::sort(values, std::greater{});
  return values;
}

// Singular values of b (L, N) from the eigenvalues of b b^T.
std::vector<double> singular_values_of_rows(Matrix& b) {
  const auto n = static_cast<std::size_t>(b.rows);
  std::vector<double> gram(n * n);
  for (std::int64_t i = 0; i < b.rows; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double dot = 0.0;
      for (std::int64_t k = 0; k < b.columns; ++k) dot += double{b.at(i, k)} * b.at(j, k);
      gram[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)] = dot;
      gram[static_cast<std::size_t>(j) * n + static_cast<std::size_t>(i)] = dot;
    }
  std::vector<double> values = eigenvalues(std::move(gram), n);
  for (double& value : values) value = std::sqrt(std::max(0.0, value));
  return values;
}

}  // namespace

std::vector<double> leading_singular_values(const Tensor& matrix, int count) {
  const std::int64_t m = matrix.shape()[0], n = matrix.shape()[1];
  const std::int64_t l = std::min<std::int64_t>({count + extra, m, n});
  if (l == 0) return {};
  const Stream host;
  Matrix y(m, l), z = random_matrix(n, l), b(l, n);
  matmul(host, y.tensor(), matrix, z.tensor());
  orthonormalize(y);
  for (int round = 0; round < rounds; ++round) {
    matmul(host, z.tensor(), matrix.transposed(), y.tensor());
    orthonormalize(z);
    matmul(host, y.tensor(), matrix, z.tensor());
    orthonormalize(y);
  }
  matmul(host, b.tensor(), y.tensor().transposed(), matrix);
  std::vector<double> values = singular_values_of_rows(b);
  values.resize(static_cast<std::size_t>(std::min<std::int64_t>(count, l)));
  return values;
}

}  // namespace triax
