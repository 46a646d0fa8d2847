#pragma once
// Dropout element by element in double precision: the oracle of kernels/dropout.hpp.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/dropout.hpp"
#include "kernels/reference/random.hpp"

namespace triax::reference {

inline std::vector<double> dropout(const std::vector<double>& x, const Dropout& dropout,
                                   std::int64_t first_index) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint32_t word = random_word(dropout.key, first_index + static_cast<std::int64_t>(i));
    const bool kept = uniform_from(word) >= dropout.probability;
    y[i] = kept ? x[i] / (1.0 - static_cast<double>(dropout.probability)) : 0.0;
  }
  return y;
}

}  // namespace triax::reference
