// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of an HTML page.
#include <string>
#include <string_view>
#include <vector>

namespace triax {

/// A table. Cells are text. The first column is a row's name; the others are aligned as numbers.
struct HtmlTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
std::string table_html(const HtmlTable& table);
/// The table behind a summary that opens it.
std::string folded_table(std::string_view summary, const HtmlTable& table);

/// "1.25e-05", "0.0314", "2.663", "29280": a number in few characters.
std::string number_text(double value);
/// "1.20 GB"
std::string bytes_text(double bytes);
/// "1.2 GB": up to four digits.
std::string short_bytes_text(double bytes);
/// "2 h 13 min", "41 s"
std::string duration_text(double seconds);

}  // namespace triax
