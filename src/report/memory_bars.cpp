// SPDX-License-Identifier: Apache-2.0
#include "src/report/memory_bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/base/html_text.hpp"
#include "src/report/html.hpp"
#include "src/report/scale.hpp"

namespace triax {
namespace {

constexpr double width = 480, label = 125, row_height = 34, bar_height = 12;

struct KindBar {
  std::string name;
  double planned = 0.0, used = 0.0;
};

std::vector<KindBar> bars_of(const nlohmann::ordered_json& event) {
  std::vector<KindBar> bars;
  if (!event.is_object()) return bars;
  const auto& used = event.at("used");
  for (const auto& entry : event.at("planned").items()) {
    const auto found = used.find(entry.key());
    if (!entry.value().is_number() || found == used.end() || !found->is_number()) continue;
    const KindBar bar{entry.key(), entry.value().get<double>(), found->get<double>()};
    if (bar.planned > 0.0 || bar.used > 0.0) bars.push_back(bar);
  }
  return bars;
}

std::string table(const std::vector<KindBar>& bars) {
  HtmlTable table{{"kind", "planned", "used"}, {}};
  KindBar sum{"in all"};
  for (const KindBar& bar : bars) {
    table.rows.push_back({bar.name, bytes_text(bar.planned), bytes_text(bar.used)});
    sum.planned += bar.planned;
    sum.used += bar.used;
  }
  table.rows.push_back({sum.name, bytes_text(sum.planned), bytes_text(sum.used)});
  return folded_table("Numbers", table);
}

}  // namespace

std::string memory_html(const std::string& title, const nlohmann::ordered_json& event) {
  const std::vector<KindBar> bars = bars_of(event);
  if (bars.empty()) return {};
  double most = 0.0;
  for (const KindBar& bar : bars) most = std::max({most, bar.planned, bar.used});
  const Scale scale{0.0, most, false};
  const auto x = [&](double bytes) { return scale.position(bytes) * (width - label - 90); };
  std::string out = fmt::format(
      "<figure><figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 {1} {2}\" role=\"img\" "
      "aria-label=\"{0}, with the numbers in the table below\">",
      html_escaped(title), width, row_height * static_cast<double>(bars.size()));
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = row_height * static_cast<double>(i) + 2;
    const KindBar& bar = bars[i];
    out += fmt::format(R"(<text class="row" x="{}" y="{}">{}</text>)", label - 6, y + 17,
                       html_escaped(bar.name));
    out += fmt::format(
        R"(<rect class="g6" x="{0}" y="{1}" width="{2:.1f}" height="{3}"><title>planned {4}</title></rect>)",
        label, y, x(bar.planned), bar_height, bytes_text(bar.planned));
    out += fmt::format(
        R"(<rect class="g0" x="{0}" y="{1}" width="{2:.1f}" height="{3}"><title>used {4}</title></rect><text x="{5:.1f}" y="{6}">{4}</text>)",
        label, y + bar_height + 1, x(bar.used), bar_height, bytes_text(bar.used),
        label + x(std::max(bar.used, bar.planned)) + 5, y + 17);
  }
  return out +
         "</svg>\n<p class=\"legend\"><span><i class=\"key g6\"></i>planned</span> <span><i "
         "class=\"key g0\"></i>used</span></p>\n" +
         table(bars) + "</figure>\n";
}

}  // namespace triax
