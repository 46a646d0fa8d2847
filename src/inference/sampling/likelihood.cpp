// SPDX-License-Identifier: Apache-2.0
#include "src/inference/sampling/likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace triax {

TokenLikelihood likelihood_of(std::span<const float> logits, std::int32_t token, int alternatives) {
  TokenLikelihood found{.token = token, .log_probability = 0.0F, .alternatives = {}};
  if (alternatives < 0) return found;
  const double largest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  const double scale = largest + std::log(sum);
  const auto log_probability = [&](std::int32_t of) {
    return static_cast<float>(logits[static_cast<std::size_t>(of)] - scale);
  };
  found.log_probability = log_probability(token);
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min(order.size(), static_cast<std::size_t>(alternatives));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const float x = logits[static_cast<std::size_t>(a)];
                      const float y = logits[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  for (std::size_t i = 0; i < count; ++i)
    found.alternatives.emplace_back(order[i], log_probability(order[i]));
  return found;
}

}  // namespace triax
