// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mean of one number per document, with its standard error.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace triax {

class Mean {
 public:
  void add(double value);
  std::int64_t count() const { return count_; }
  double mean() const;
  /// Sample standard deviation / sqrt(count): mean_stderr of lm-evaluation-harness. Not a number
  /// for fewer than two values.
  double standard_error() const;
  /// Adds "name" and "name_stderr" to `results`; null where there is no such number.
  void report(const std::string& name, nlohmann::ordered_json& results) const;

 private:
  std::int64_t count_ = 0;
  double sum_ = 0.0, squares_ = 0.0;
};

}  // namespace triax
