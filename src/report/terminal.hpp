// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of a run as text: a curve of dots, rates, the time left.
#include <string>
#include <vector>

#include "src/report/run_data.hpp"

namespace triax {

/// A screen in characters. Without `braille` curves are drawn in ASCII.
struct Screen {
  int columns = 80, rows = 24;
  bool braille = true;
};

/// A curve of `columns` x `rows` characters, as lines without labels. [least, most]: values of the
/// lowest and highest dot.
std::vector<std::string> plot(const Series& series, int columns, int rows, bool braille,
                              double least, double most);

/// Seconds to the last step, by the median of the last steps; 0 if unknown or done.
double seconds_left(const RunData& run);

/// Lines of the screen. `now`: seconds since 1970, for the age of the last step.
std::string watch_text(const RunData& run, const Screen& screen, double now);

}  // namespace triax
