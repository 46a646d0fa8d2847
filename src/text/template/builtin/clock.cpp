// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/builtin/clock.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "kernels/base/check.hpp"
#include "src/text/template/value/fault.hpp"

namespace triax::jinja {
namespace {

constexpr std::array months = {"January",   "February", "March",    "April",
                               "May",       "June",     "July",     "August",
                               "September", "October",  "November", "December"};
constexpr std::array days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                             "Thursday", "Friday", "Saturday"};

std::chrono::sys_days date(const Clock& clock) {
  return std::chrono::year(clock.year) / clock.month / clock.day;
}

const char* day_name(const Clock& clock) {
  return days[std::chrono::weekday(date(clock)).c_encoding()];
}

const char* month_name(const Clock& clock) {
  return months[static_cast<std::size_t>(clock.month - 1)];
}

int day_of_year(const Clock& clock) {
  return 1 +
         static_cast<int>(
             (date(clock) - std::chrono::sys_days(std::chrono::year(clock.year) / 1 / 1)).count());
}

int hour_of_twelve(const Clock& clock) {
  return clock.hour % 12 == 0 ? 12 : clock.hour % 12;
}

std::string unpadded(const Clock& clock, char directive) {
  switch (directive) {
    case 'd':
      return std::to_string(clock.day);
    case 'm':
      return std::to_string(clock.month);
    case 'H':
      return std::to_string(clock.hour);
    case 'I':
      return std::to_string(hour_of_twelve(clock));
    default:
      throw Fault(fmt::format("strftime_now: %-{} is not supported", directive));
  }
}

std::string formatted(const Clock& clock, char directive) {
  switch (directive) {
    case 'a':
      return std::string(day_name(clock)).substr(0, 3);
    case 'A':
      return day_name(clock);
    case 'b':
      return std::string(month_name(clock)).substr(0, 3);
    case 'B':
      return month_name(clock);
    case 'd':
      return fmt::format("{:02}", clock.day);
    case 'e':
      return fmt::format("{:2}", clock.day);
    case 'H':
      return fmt::format("{:02}", clock.hour);
    case 'I':
      return fmt::format("{:02}", hour_of_twelve(clock));
    case 'j':
      return fmt::format("{:03}", day_of_year(clock));
    case 'm':
      return fmt::format("{:02}", clock.month);
    case 'M':
      return fmt::format("{:02}", clock.minute);
    case 'p':
      return clock.hour < 12 ? "AM" : "PM";
    case 'S':
      return fmt::format("{:02}", clock.second);
    case 'y':
      return fmt::format("{:02}", clock.year % 100);
    case 'Y':
      return std::to_string(clock.year);
    case 'F':
      return fmt::format("{}-{:02}-{:02}", clock.year, clock.month, clock.day);
    case 'T':
      return fmt::format("{:02}:{:02}:{:02}", clock.hour, clock.minute, clock.second);
    case '%':
      return "%";
    default:
      throw Fault(fmt::format("strftime_now: %{} is not supported", directive));
  }
}

bool is_valid(const Clock& clock) {
  const auto day = std::chrono::year(clock.year) / clock.month / clock.day;
  return day.ok() && clock.year >= 1000 && clock.year <= 9999 && clock.hour >= 0 &&
         clock.hour < 24 && clock.minute >= 0 && clock.minute < 60 && clock.second >= 0 &&
         clock.second < 60;
}

}  // namespace

Clock clock_now() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return {local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
          local.tm_hour,        local.tm_min,     local.tm_sec};
}

Clock parse_clock(const std::string& text, const std::string& what) {
  Clock clock;
  int length = 0;
  const int fields =
      std::sscanf(text.c_str(), "%4d-%2d-%2d%nT%2d:%2d:%2d%n", &clock.year, &clock.month,  // NOLINT
                  &clock.day, &length, &clock.hour, &clock.minute, &clock.second, &length);
  const bool whole =
      (fields == 3 || fields == 6) && static_cast<std::size_t>(length) == text.size();
  if (whole && is_valid(clock)) return clock;
  throw UsageError(fmt::format("{} \"{}\" is no date", what, text), {},
                   "Write it as 2026-01-31 or 2026-01-31T12:00:00");
}

std::string clock_text(const Clock& clock) {
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", clock.year, clock.month, clock.day,
                     clock.hour, clock.minute, clock.second);
}

std::string format_clock(const Clock& clock, const std::string& format) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
    } else if (i + 2 < format.size() && format[i + 1] == '-') {
      out += unpadded(clock, format[i + 2]);
      i += 2;
    } else if (i + 1 < format.size()) {
      out += formatted(clock, format[++i]);
    } else {
      throw Fault("strftime_now: a % is at the end of the format");
    }
  }
  return out;
}

}  // namespace triax::jinja
