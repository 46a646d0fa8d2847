// SPDX-License-Identifier: Apache-2.0
#pragma once
// A line on standard error that says how far a command is.
#include <chrono>
#include <string>
#include <string_view>

namespace triax {

/// On a terminal one line that is rewritten, and cleared at the end; elsewhere a line every 10
/// seconds.
class StatusLine {
 public:
  explicit StatusLine(bool shown);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  /// Whether a text would be shown now: spares the work of making it.
  bool due() const;
  void show(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_, terminal_, open_ = false;
  Clock::time_point last_ = Clock::now();
};

}  // namespace triax
