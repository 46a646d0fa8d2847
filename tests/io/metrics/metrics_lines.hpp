// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of metrics.jsonl, written and read back.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/metrics/metrics_writer.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {

inline std::vector<nlohmann::json> lines(const std::string& path) {
  std::vector<nlohmann::json> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

inline std::vector<std::int64_t> steps(const std::string& path) {
  std::vector<std::int64_t> out;
  for (const nlohmann::json& line : lines(path)) out.push_back(line.at("step").get<std::int64_t>());
  return out;
}

inline void write_steps(const std::string& path, std::int64_t begin, std::int64_t end) {
  MetricsWriter writer(path, begin);
  for (std::int64_t step = begin; step < end; ++step) {
    StepMetrics m;
    m.step = step;
    writer.write(m);
  }
}

}  // namespace triax::test
