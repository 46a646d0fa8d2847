// SPDX-License-Identifier: Apache-2.0
#include "src/report/gantt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/base/html_text.hpp"
#include "src/report/html.hpp"
#include "src/report/scale.hpp"

namespace triax {
namespace {

constexpr double width = 1000, label = 130, row_height = 26, bar_height = 20, axis_height = 36;
constexpr double least_width = 0.8;  // of a bar; shorter ones of a kind are drawn as one
constexpr std::array<const char*, 7> kind_names = {
    "forward",   "backward", "recompute", "messages between stages", "reductions and gathers",
    "optimizer", "other"};

struct KindOfWord {
  std::string_view begin;
  GanttKind kind;
};
// Words that texts of instructions begin with.
constexpr std::array<KindOfWord, 17> words = {{{"F ", GanttKind::forward},
                                               {"B ", GanttKind::backward},
                                               {"R ", GanttKind::recompute},
                                               {"send ", GanttKind::message},
                                               {"recv ", GanttKind::message},
                                               {"exchange", GanttKind::message},
                                               {"reduce", GanttKind::reduction},
                                               {"gather", GanttKind::reduction},
                                               {"tensor sum", GanttKind::reduction},
                                               {"replica sum", GanttKind::reduction},
                                               {"tied sum", GanttKind::reduction},
                                               {"norm", GanttKind::reduction},
                                               {"broadcast", GanttKind::reduction},
                                               {"step", GanttKind::optimizer},
                                               {"momentum", GanttKind::optimizer},
                                               {"orthogonalize", GanttKind::optimizer},
                                               {"fetch", GanttKind::other}}};

// Bars of one kind that would be drawn in less than least_width become one bar.
std::vector<GanttBar> merged(const std::vector<GanttBar>& bars, double shortest) {
  std::vector<GanttBar> result;
  for (const GanttBar& bar : bars) {
    if (bar.end <= bar.begin) continue;
    if (!result.empty()) {
      GanttBar& last = result.back();
      const bool is_short = bar.end - bar.begin < shortest || last.end - last.begin < shortest;
      if (last.kind == bar.kind && is_short && bar.begin - last.end < shortest) {
        last.end = bar.end;
        if (!last.name.ends_with("...")) last.name += " ...";
        continue;
      }
    }
    result.push_back(bar);
  }
  return result;
}

std::string bar_svg(const GanttBar& bar, double x, double bar_width, double y) {
  return fmt::format(
      R"(<rect class="g{}" x="{:.1f}" y="{:.0f}" width="{:.1f}" height="{}"><title>{}: {:.3f} ms, from {:.3f} ms</title></rect>)",
      static_cast<int>(bar.kind), x, y, std::max(bar_width, 0.3), bar_height,
      html_escaped(bar.name), 1e3 * (bar.end - bar.begin), 1e3 * bar.begin);
}

std::string axis_svg(const Scale& scale, double rows_height, double per_second) {
  std::string out;
  for (const double tick : ticks(scale, 8))
    out += fmt::format(
        R"(<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1}"/><text class="xlab" x="{0:.1f}" y="{2}">{3:.4g}</text>)",
        label + tick * per_second, rows_height, rows_height + 16, 1e3 * tick);
  return out + fmt::format(R"(<text class="xlab" x="{}" y="{}">milliseconds</text>)",
                           (label + width) / 2, rows_height + 32);
}

std::string kinds_table(const std::vector<GanttRow>& rows) {
  HtmlTable table{{"row"}, {}};
  for (const char* name : kind_names) table.head.emplace_back(fmt::format("{}, ms", name));
  for (const GanttRow& row : rows) {
    std::array<double, kind_names.size()> seconds{};
    for (const GanttBar& bar : row.bars)
      seconds[static_cast<std::size_t>(bar.kind)] += bar.end - bar.begin;
    std::vector<std::string> cells = {row.name};
    for (const double one : seconds) cells.push_back(fmt::format("{:.3f}", 1e3 * one));
    table.rows.push_back(std::move(cells));
  }
  return folded_table("Numbers", table);
}

}  // namespace

GanttKind gantt_kind(const std::string& instruction) {
  // Inputs of recomputed layers are gathered over the tensor ranks: no reduction of gradients.
  for (const KindOfWord& word : words)
    if (instruction.starts_with(word.begin)) return word.kind;
  return GanttKind::other;
}

std::string gantt_html(const std::string& title, const std::vector<GanttRow>& rows) {
  double end = 0.0;
  for (const GanttRow& row : rows)
    for (const GanttBar& bar : row.bars) end = std::max(end, bar.end);
  if (end <= 0.0) return {};
  const double per_second = (width - label - 10) / end;
  const double rows_height = row_height * static_cast<double>(rows.size());
  std::string out =
      fmt::format("<figure class=\"wide\"><figcaption>{}</figcaption>\n", html_escaped(title));
  out += fmt::format(
      "<div class=\"scroll\"><svg class=\"gantt\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}, with the numbers in the table below\">",
      width, rows_height + axis_height, html_escaped(title));
  out += axis_svg(scale_for(0.0, end, false), rows_height, per_second);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = row_height * static_cast<double>(i);
    out += fmt::format(R"(<text class="row" x="{}" y="{:.0f}">{}</text>)", label - 6,
                       y + bar_height - 4, html_escaped(rows[i].name));
    for (const GanttBar& bar : merged(rows[i].bars, least_width / per_second))
      out +=
          bar_svg(bar, label + bar.begin * per_second, (bar.end - bar.begin) * per_second, y + 2) +
          "\n";
  }
  out += "</svg></div>\n<p class=\"legend\">";
  for (std::size_t kind = 0; kind < kind_names.size(); ++kind)
    out += fmt::format("<span><i class=\"key g{}\"></i>{}</span> ", kind, kind_names[kind]);
  return out + "</p>\n<output class=\"read\">&nbsp;</output>\n" + kinds_table(rows) + "</figure>\n";
}

}  // namespace triax
