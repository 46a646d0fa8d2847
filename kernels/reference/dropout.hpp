// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dropout element by element in double precision: the oracle of kernels/random/dropout.hpp.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/random/dropout.hpp"
#include "kernels/reference/random.hpp"

namespace triax::reference {

/// Dropout's multiplier of element `index`, from 16 bits of the stream; the lower half of a word
/// comes before the upper half.
inline double dropout_factor(const Dropout& dropout, std::int64_t index) {
  if (dropout.probability <= 0.0F) return 1.0;
  const long parts = std::lround(double{dropout.probability} * 65536.0);
  const long least = std::min(std::max(parts, 1L), 65535L);
  const long word = random_word(dropout.key, index / 2);
  const long half = index % 2 == 0 ? word % 65536 : word / 65536;
  return half >= least ? 65536.0 / static_cast<double>(65536 - least) : 0.0;
}

inline std::vector<double> dropout(const std::vector<double>& x, const Dropout& dropout,
                                   std::int64_t first_index) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double factor = dropout_factor(dropout, first_index + static_cast<std::int64_t>(i));
    y[i] = factor > 0.0 ? x[i] * factor : 0.0;
  }
  return y;
}

}  // namespace triax::reference
