// SPDX-License-Identifier: Apache-2.0
#pragma once
// Token and position embeddings in plain loops and double precision: the oracle of
// kernels/embedding/embedding.hpp.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace triax::reference {

/// Row tokens[r] of weight (vocabulary, columns) times `scale`; zero if the token is negative.
inline std::vector<double> embedding_forward(const std::vector<std::int32_t>& tokens,
                                             const std::vector<double>& weight, std::size_t columns,
                                             double scale = 1.0) {
  std::vector<double> y(tokens.size() * columns, 0.0);
  for (std::size_t r = 0; r < tokens.size(); ++r)
    for (std::size_t c = 0; c < columns && tokens[r] >= 0; ++c)
      y[r * columns + c] = scale * weight[static_cast<std::size_t>(tokens[r]) * columns + c];
  return y;
}

/// dweight (vocabulary, columns) from dy (rows, columns) times `scale`.
inline std::vector<double> embedding_backward(const std::vector<std::int32_t>& tokens,
                                              const std::vector<double>& dy, std::size_t vocabulary,
                                              std::size_t columns, double scale = 1.0) {
  std::vector<double> dweight(vocabulary * columns, 0.0);
  for (std::size_t r = 0; r < tokens.size(); ++r)
    for (std::size_t c = 0; c < columns && tokens[r] >= 0; ++c)
      dweight[static_cast<std::size_t>(tokens[r]) * columns + c] += scale * dy[r * columns + c];
  return dweight;
}

/// Positions of rows first_row, first_row + 1, ... in sequences of `length`. With these as tokens,
/// a position embedding is a token embedding.
inline std::vector<std::int32_t> positions(std::size_t first_row, std::size_t rows,
                                           std::size_t length) {
  std::vector<std::int32_t> out(rows);
  for (std::size_t r = 0; r < rows; ++r)
    out[r] = static_cast<std::int32_t>((first_row + r) % length);
  return out;
}

}  // namespace triax::reference
