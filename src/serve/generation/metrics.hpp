// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts and times of the server, in Prometheus' text format 0.0.4.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/inference/engine/engine.hpp"

namespace triax {

class Histogram {
 public:
  /// `bounds`: upper bounds of the buckets, ascending; one more has the rest.
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)) {
    counts_.resize(bounds_.size() + 1);
  }
  void add(double value);
  std::string text(const std::string& name) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::int64_t> counts_;
  double sum_ = 0;
};

/// Used on the server's thread alone.
struct Metrics {
  EngineState engine;
  std::int64_t cancelled = 0;                                   // requests whose client has gone
  std::int64_t refused = 0;                                     // by the full queue
  std::map<std::string, std::int64_t> finished;                 // answers, by finish reason
  std::map<std::pair<std::string, int>, std::int64_t> replies;  // by route and status
  Histogram first_token, next_token, whole;                     // seconds

  Metrics();
  std::string text() const;
};

}  // namespace triax
