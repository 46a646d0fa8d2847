// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timing and output of benchmarks: one JSON line per case.
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triax::benchmark {

struct Timing {
  double seconds = 0;  // median
  double spread = 0;   // distance of the quartiles over the median
};

/// Median time of `body`, run once to warm up, and then at least seven times and until
/// `total_seconds` have passed.
Timing time_median(const std::function<void()>& body, double total_seconds = 0.5);

/// Median and spread of times measured by the caller (at least one). Quantiles are interpolated
/// between two times, like numpy's.
Timing timing_of(std::vector<double> seconds);

/// Prints {"benchmark":, "case":, "seconds":, "spread":, figures, words}, in this order.
void print_result(std::string_view benchmark, std::string_view case_name, const Timing& timing,
                  const std::vector<std::pair<std::string_view, double>>& figures,
                  const std::vector<std::pair<std::string_view, std::string>>& words = {});

}  // namespace triax::benchmark
