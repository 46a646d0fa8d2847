#pragma once
// How a benchmark is timed and what it prints: one JSON line a case.
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triax::benchmark {

struct Timing {
  double seconds = 0;  // median
  double spread = 0;   // between the quartiles, as a fraction of the median
};

/// The median time of `body`, run once to warm up and then until `total_seconds` have passed and at
/// least seven times.
Timing time_median(const std::function<void()>& body, double total_seconds = 0.5);

/// The median and spread of times measured by the caller, which are not empty: quantiles between
/// two of them are interpolated, as numpy's are.
Timing timing_of(std::vector<double> seconds);

/// Prints {"benchmark":, "case":, "seconds":, "spread":, the figures and the words, in their
/// order}.
void print_result(std::string_view benchmark, std::string_view case_name, const Timing& timing,
                  const std::vector<std::pair<std::string_view, double>>& figures,
                  const std::vector<std::pair<std::string_view, std::string>>& words = {});

}  // namespace triax::benchmark
