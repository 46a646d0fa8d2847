// SPDX-License-Identifier: Apache-2.0
#include "src/report/html.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "kernels/base/html_text.hpp"

namespace triax {
namespace {

struct ScaledBytes {
  double value;
  const char* unit;
  bool whole;  // no fraction: bytes
};

ScaledBytes scaled_bytes(double bytes) {
  constexpr std::array<const char*, 6> units = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; std::abs(bytes) >= 1000.0 && unit + 1 < units.size(); ++unit) bytes /= 1000.0;
  return {bytes, units[unit], unit == 0};
}

}  // namespace

std::string table_html(const HtmlTable& table) {
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (const std::string& cell : table.head)
    out += fmt::format("<th scope=\"col\">{}</th>", html_escaped(cell));
  out += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", html_escaped(row[i]))
                    : fmt::format("<td>{}</td>", html_escaped(row[i]));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string folded_table(std::string_view summary, const HtmlTable& table) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", html_escaped(summary),
                     table_html(table));
}

std::string number_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e5 && size < 1e15 && value == std::floor(value)) return fmt::format("{:.0f}", value);
  return size >= 1000 && size < 1e6 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string bytes_text(double bytes) {
  const ScaledBytes scaled = scaled_bytes(bytes);
  return fmt::format("{:.{}f} {}", scaled.value, scaled.whole ? 0 : 2, scaled.unit);
}

std::string short_bytes_text(double bytes) {
  const ScaledBytes scaled = scaled_bytes(bytes);
  return fmt::format("{:.4g} {}", scaled.value, scaled.unit);
}

std::string duration_text(double seconds) {
  const auto s = static_cast<std::int64_t>(std::llround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86400, s / 3600 % 24);
}

}  // namespace triax
