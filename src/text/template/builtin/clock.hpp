// SPDX-License-Identifier: Apache-2.0
#pragma once
// Date and time that a template sees: a parameter, so that a text can be made again.
#include <string>

namespace triax::jinja {

struct Clock {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;  // month, day from 1
};

/// Local time of the machine now.
Clock clock_now();
/// "2026-01-31" or "2026-01-31T12:00:00". UsageError for any other text, naming `what`.
Clock parse_clock(const std::string& text, const std::string& what);
/// "2026-01-31T12:00:00".
std::string clock_text(const Clock& clock);
/// strftime() of Python in English, for %a %A %b %B %d %e %H %I %j %m %M %p %S %y %Y %F %T %-d %-m
/// %-H %-I %%. Fault for other directives.
std::string format_clock(const Clock& clock, const std::string& format);

}  // namespace triax::jinja
