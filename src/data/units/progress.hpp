// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress of a job on standard error.
#include <chrono>
#include <cstdint>
#include <string>

namespace triax {

/// "tokenize: 42% of 1.20 GB, 83.1 MB/s, 8 s left".
std::string progress_text(const std::string& name, std::int64_t done, std::int64_t total,
                          double seconds);

/// "merges: 42% of 32511, 5100 per second, 4 s left" for other things than bytes.
std::string number_progress_text(const std::string& name, std::int64_t done, std::int64_t total,
                                 double seconds);

/// On a terminal one line that is rewritten; elsewhere a line every 10 seconds.
class ProgressLine {
 public:
  using Text = std::string (*)(const std::string&, std::int64_t, std::int64_t, double);
  ProgressLine(std::string name, std::int64_t total, bool shown, Text text = progress_text);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  std::int64_t total_;
  Text text_;
  bool shown_, terminal_, open_ = false;
  Clock::time_point begun_ = Clock::now(), last_ = begun_;
};

}  // namespace triax
