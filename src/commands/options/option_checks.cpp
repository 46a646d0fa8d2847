// SPDX-License-Identifier: Apache-2.0
#include "src/commands/options/option_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

namespace triax {
namespace {

// Bytes of a unit in letters of either case (kB: 1000, KiB: 1024); nothing for other words.
std::optional<std::int64_t> bytes_of_unit(std::string unit) {
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  std::int64_t decimal = 1;
  std::int64_t binary = 1;
  if (unit.empty() || unit == "b") return 1;
  for (const char* prefix : {"k", "m", "g", "t", "p"}) {
    decimal *= 1000;
    binary *= 1024;
    if (unit == prefix || unit == fmt::format("{}b", prefix)) return decimal;
    if (unit == fmt::format("{}i", prefix) || unit == fmt::format("{}ib", prefix)) return binary;
  }
  return {};
}

std::optional<std::int64_t> bytes_of(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [digits_end, error] = std::from_chars(text.data(), end, number);
  const auto unit =
      bytes_of_unit({std::find_if(digits_end, end, [](char c) { return c != ' '; }), end});
  if (error != std::errc() || number < 1 || !unit) return {};
  if (number > std::numeric_limits<std::int64_t>::max() / *unit) return {};
  return number * *unit;
}

}  // namespace

// Used instead of CLI::Range, which accepts nan and numbers that overflow the conversion.
Check number(double least, double most) {
  return [=](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool fits = !text.empty() && *end == '\0' && value >= least && value <= most;
    return fits ? std::string()
                : fmt::format("expected a number from {} to {}, got \"{}\"", least, most, text);
  };
}

Check whole_number(double least, double most) {
  return [=](const std::string& text) {
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    return digits && number(least, most)(text).empty()
               ? std::string()
               : fmt::format("expected a whole number from {} to {}, got \"{}\"", least, most,
                             text);
  };
}

std::function<std::string(std::string&)> size() {
  return [](std::string& text) {
    const std::optional<std::int64_t> bytes = bytes_of(text);
    if (!bytes)
      return fmt::format(
          "expected a number of bytes from 1 on, as 5000000000, 5GB or 5GiB, got \"{}\"", text);
    text = std::to_string(*bytes);
    return std::string();
  };
}

}  // namespace triax
