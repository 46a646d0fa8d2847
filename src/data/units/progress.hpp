// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress of a job on standard error.
#include <chrono>
#include <cstdint>
#include <string>

#include "kernels/base/process/status_line.hpp"

namespace triax {

/// "tokenize: 42% of 1.20 GB, 83.1 MB/s, 8 s left".
std::string progress_text(const std::string& name, std::int64_t done, std::int64_t total,
                          double seconds);

/// "merges: 42% of 32511, 5100 per second, 4 s left" for other things than bytes.
std::string number_progress_text(const std::string& name, std::int64_t done, std::int64_t total,
                                 double seconds);

/// The status line of a job.
class ProgressLine {
 public:
  using Text = std::string (*)(const std::string&, std::int64_t, std::int64_t, double);
  ProgressLine(std::string name, std::int64_t total, bool shown, Text text = progress_text);
  void show(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  std::int64_t total_;
  Text text_;
  StatusLine line_;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace triax
