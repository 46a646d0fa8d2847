// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/report.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

namespace triax::benchmark {

Timing timing_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto quantile = [&](double part) {
    const double at = static_cast<double>(seconds.size() - 1) * part;
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, seconds.size() - 1);
    return std::lerp(seconds[below], seconds[above], at - static_cast<double>(below));
  };
  return {quantile(0.5), (quantile(0.75) - quantile(0.25)) / quantile(0.5)};
}

Timing time_median(const std::function<void()>& body, double total_seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t least_runs = 7;
  body();
  std::vector<double> seconds;
  const auto start = Clock::now();
  auto last = start;
  while (seconds.size() < least_runs ||
         std::chrono::duration<double>(last - start).count() < total_seconds) {
    body();
    const auto now = Clock::now();
    seconds.push_back(std::chrono::duration<double>(now - last).count());
    last = now;
  }
  return timing_of(std::move(seconds));
}

void print_result(std::string_view benchmark, std::string_view case_name, const Timing& timing,
                  const std::vector<std::pair<std::string_view, double>>& figures,
                  const std::vector<std::pair<std::string_view, std::string>>& words) {
  nlohmann::ordered_json line;
  line["benchmark"] = benchmark;
  line["case"] = case_name;
  line["seconds"] = timing.seconds;
  line["spread"] = timing.spread;
  for (const auto& [name, value] : figures) line[std::string(name)] = value;
  for (const auto& [name, value] : words) line[std::string(name)] = value;
  std::cout << line.dump() << std::endl;
}

}  // namespace triax::benchmark
