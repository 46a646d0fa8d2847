// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/task/mean.hpp"

#include <algorithm>
#include <cmath>

namespace triax {

void Mean::add(double value) {
  ++count_;
  sum_ += value;
  squares_ += value * value;
}

double Mean::mean() const {
  return sum_ / static_cast<double>(count_);
}

double Mean::standard_error() const {
  const auto n = static_cast<double>(count_);
  const double variance = std::max(0.0, squares_ - sum_ * sum_ / n) / (n - 1.0);
  return std::sqrt(variance / n);
}

// JSON has no NaN: nlohmann writes null.
void Mean::report(const std::string& name, nlohmann::ordered_json& results) const {
  results[name] = mean();
  results[name + "_stderr"] = count_ > 1 ? standard_error() : std::nan("");
}

}  // namespace triax
