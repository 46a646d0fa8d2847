// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/duration.hpp"

#include <charconv>
#include <limits>

namespace triax {
namespace {

// Seconds of a unit; 0: not a unit.
double seconds_of(char unit) {
  switch (unit) {
    case 's':
      return 1.0;
    case 'm':
      return 60.0;
    case 'h':
      return 3600.0;
    case 'd':
      return 86400.0;
    default:
      return 0.0;
  }
}

}  // namespace

std::optional<double> parse_duration(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  double sum = 0.0;
  double last_unit = std::numeric_limits<double>::infinity();
  do {
    double count = 0.0;
    if (at == end || *at < '0' || *at > '9') return {};  // from_chars takes inf, nan and signs
    const auto number = std::from_chars(at, end, count, std::chars_format::fixed);
    if (number.ec != std::errc{}) return {};
    if (number.ptr == end) return at == text.data() ? std::optional(count) : std::nullopt;
    const double unit = seconds_of(*number.ptr);
    if (unit == 0.0 || unit >= last_unit) return {};
    sum += count * unit;
    last_unit = unit;
    at = number.ptr + 1;
  } while (at != end);
  return sum;
}

}  // namespace triax
