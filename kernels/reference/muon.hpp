// SPDX-License-Identifier: Apache-2.0
#pragma once
// Muon in plain loops and double precision: the oracle of kernels/optimizer/orthogonal/muon.hpp and
// orthogonalize.hpp. torch.optim.Muon without its rounding to bfloat16.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/optimizer/orthogonal/muon.hpp"
#include "kernels/optimizer/orthogonal/orthogonalize.hpp"

namespace triax::reference {

/// A (rows, columns) matrix in row-major order.
struct Matrix {
  std::size_t rows, columns;
  std::vector<double> values;
  double at(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
  Matrix transposed() const {
    Matrix t{columns, rows, std::vector<double>(values.size())};
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) t.values[j * rows + i] = at(i, j);
    return t;
  }
};

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns, std::vector<double>(a.rows * b.columns)};
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t j = 0; j < b.columns; ++j)
        c.values[i * b.columns + j] += a.at(i, k) * b.at(k, j);
  return c;
}

inline Matrix orthogonalize(const Matrix& matrix, const NewtonSchulz& options) {
  if (matrix.rows > matrix.columns) return orthogonalize(matrix.transposed(), options).transposed();
  Matrix x = matrix;
  double squares = 0.0;
  for (const double v : x.values) squares += v * v;
  for (double& v : x.values) v /= std::max(std::sqrt(squares), options.epsilon);
  for (int step = 0; step < options.steps; ++step) {
    const Matrix gram = product(x, x.transposed());
    Matrix polynomial = product(gram, gram);
    for (std::size_t i = 0; i < gram.values.size(); ++i)
      polynomial.values[i] = options.b * gram.values[i] + options.c * polynomial.values[i];
    const Matrix more = product(polynomial, x);
    for (std::size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = options.a * x.values[i] + more.values[i];
  }
  return x;
}

struct MuonState {
  std::vector<double> direction;
  std::vector<double> m;
};

inline void muon_momentum(MuonState& state, const std::vector<double>& gradient, float factor,
                          const MuonOptions& options) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = std::clamp(static_cast<double>(factor) * gradient[i], -options.clip_value,
                                options.clip_value);
    state.m[i] = options.momentum * state.m[i] + (1.0 - options.momentum) * g;
    state.direction[i] = options.nesterov
                             ? (1.0 - options.momentum) * g + options.momentum * state.m[i]
                             : state.m[i];
  }
}

}  // namespace triax::reference
