// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run directory for tests, written by the program's own writers.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "io/metrics/metrics_writer.hpp"
#include "io/metrics/run_events.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {

class RunFixture {
 public:
  explicit RunFixture(std::int64_t steps, double rate = 1e-3) {
    MetricsWriter metrics(file("metrics.jsonl"), 0);
    for (std::int64_t step = 0; step < steps; ++step) {
      StepMetrics m;
      m.step = step;
      m.loss = 2.0 + 3.0 * std::exp(-rate * static_cast<double>(step));
      m.grad_norm = step == steps / 2 ? 1000.0 : 1.0;
      m.lr = 1e-3;
      m.tokens = (step + 1) * 1024;
      m.tokens_per_second = 5000.0;
      m.step_seconds = 0.25;
      m.peak_memory_bytes = 123'000'000;
      metrics.write(m);
      if (step % 100 == 99) metrics.write_valid(step, m.loss + 0.5, m.tokens);
    }
    std::ofstream(file("job.json"))
        << nlohmann::json{{"run", {{"steps", 2 * steps}, {"seed", rate}}},
                          {"triax", {{"version", "0.1.0"}, {"commit", "abc"}, {"hosts", {"n1"}}}}};
  }
  std::string directory() const { return directory_.path(); }
  std::string file(const std::string& name) const { return directory_.path(name); }
  void event(const std::string& kind, const nlohmann::ordered_json& fields) const {
    append_event(file(events_file), kind, fields);
  }

 private:
  TempDirectory directory_;
};

}  // namespace triax::test
