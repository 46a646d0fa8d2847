// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/status_line.hpp"

#include <unistd.h>

#include "kernels/base/process/say.hpp"

namespace triax {

StatusLine::StatusLine(bool shown) : shown_(shown), terminal_(::isatty(STDERR_FILENO) != 0) {}

StatusLine::~StatusLine() {
  if (open_) say_text("\r\033[K");
}

bool StatusLine::due() const {
  constexpr std::chrono::seconds line_interval{10};
  return shown_ && (terminal_ || Clock::now() - last_ >= line_interval);
}

void StatusLine::show(std::string_view text) {
  if (!due()) return;
  last_ = Clock::now();
  if (terminal_) {
    say("\r\033[K{}", text);
    open_ = true;
  } else {
    say("{}\n", text);
  }
}

}  // namespace triax
