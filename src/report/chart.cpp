// SPDX-License-Identifier: Apache-2.0
#include "src/report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/base/html_text.hpp"
#include "src/report/html.hpp"
#include "src/report/scale.hpp"

namespace triax {
namespace {

constexpr double width = 480, height = 240, left = 62, right = 12, top = 10, bottom = 34;
constexpr std::size_t most_points = 400, most_rows = 40;

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    double x0 = std::numeric_limits<double>::max(), x1 = -x0, y0 = x0, y1 = -x0;
    std::vector<double> middles;
    for (const Curve& curve : chart.curves) {
      if (curve.series.empty()) continue;
      names_.push_back(&curve);
      points_.push_back(envelope(curve.series, most_points));
      for (const EnvelopePoint& point : points_.back()) {
        x0 = std::min(x0, point.first), x1 = std::max(x1, point.last);
        y0 = std::min(y0, point.least), y1 = std::max(y1, point.most);
        middles.push_back(point.mean);
      }
    }
    if (points_.empty()) return;
    std::ranges::nth_element(middles, middles.begin() + std::ssize(middles) / 2);
    const double middle = middles[middles.size() / 2];
    x_ = scale_for(x0, x1, false);
    y_ = scale_for(y0, y1, y1 > 20.0 * middle);  // a few large values would flatten the rest
  }

  bool empty() const { return points_.empty(); }

  std::string html() const {
    const std::string title = html_escaped(chart_.title);
    std::string out = fmt::format("<figure><figcaption>{}{}</figcaption>\n", title,
                                  y_.logarithmic ? " (logarithmic scale)" : "");
    out += fmt::format(
        R"(<svg viewBox="0 0 {} {}" role="img" tabindex="0" aria-label="{}: {}. The numbers are in the table below; arrow keys read them." data-chart="{}">)",
        width, height, title, html_escaped(spoken()), html_escaped(data()));
    out += axes();
    for (std::size_t i = 0; i < points_.size(); ++i) out += curve(i);
    out += fmt::format(R"(<line class="cross" y1="{}" y2="{}" visibility="hidden"/></svg>)", top,
                       height - bottom);
    return out + "\n" + legend() + "<output class=\"read\">&nbsp;</output>\n" + table() +
           "</figure>\n";
  }

 private:
  std::string value_text(double value) const {
    return chart_.unit == "bytes" ? bytes_text(value) : number_text(value);
  }
  // Ticks are round: "96 MB".
  std::string tick_text(double value) const {
    return chart_.unit == "bytes" ? short_bytes_text(value) : number_text(value);
  }
  double px(double x) const { return left + x_.position(x) * (width - left - right); }
  double py(double y) const { return height - bottom - y_.position(y) * (height - top - bottom); }

  std::string axes() const {
    std::string out;
    for (const double tick : ticks(y_, 5))
      out += fmt::format(
          R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text x="{}" y="{:.1f}" class="ylab">{}</text>)",
          left, width - right, py(tick), py(tick), left - 5, py(tick) + 4, tick_text(tick));
    for (const double tick : ticks(x_, 5))
      if (tick >= x_.least && tick <= x_.most)
        out += fmt::format(R"(<text x="{:.1f}" y="{}" class="xlab">{}</text>)", px(tick),
                           height - bottom + 16, number_text(tick));
    return out +
           fmt::format(
               R"(<text x="{}" y="{}" class="xlab">step</text><line class="axis" x1="{}" x2="{}" y1="{}" y2="{}"/>)",
               (left + width - right) / 2, height - 3, left, width - right, height - bottom,
               height - bottom);
  }

  // The band between the extremes, and the line of the means.
  std::string curve(std::size_t i) const {
    const auto& points = points_[i];
    const int color = names_[i]->color;
    std::string upper, lower, line;
    for (const EnvelopePoint& point : points) {
      const double x = px((point.first + point.last) / 2);
      upper += fmt::format("{:.1f},{:.1f} ", x, py(point.most));
      lower = fmt::format("{:.1f},{:.1f} ", x, py(point.least)) + lower;
      line += fmt::format("{:.1f},{:.1f} ", x, py(point.mean));
    }
    if (points.size() == 1)
      return fmt::format(R"(<circle class="dot c{}" cx="{:.1f}" cy="{:.1f}" r="3"/>)", color,
                         px(points[0].last), py(points[0].mean));
    std::string out;
    if (points.size() < names_[i]->series.x.size())
      out += fmt::format(R"(<polygon class="band c{}" points="{}{}"/>)", color, upper, lower);
    out += fmt::format(R"(<polyline class="line c{}" points="{}"/>)", color, line);
    if (points.size() <= 30)
      for (const EnvelopePoint& point : points)
        out += fmt::format(R"(<circle class="dot c{}" cx="{:.1f}" cy="{:.1f}" r="2"/>)", color,
                           px(point.last), py(point.mean));
    return out;
  }

  std::string spoken() const {
    std::string text;
    for (std::size_t i = 0; i < points_.size(); ++i)
      text += fmt::format("{}{} from {} at step {:.0f} to {} at step {:.0f}",
                          text.empty() ? "" : ", ", names_[i]->name,
                          value_text(points_[i].front().mean), points_[i].front().first,
                          value_text(points_[i].back().mean), points_[i].back().last);
    return text;
  }

  // For the script that reads values at the pointer.
  std::string data() const {
    std::string curves;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      std::string list;
      for (const EnvelopePoint& p : points_[i])
        list += fmt::format("{}[{:.0f},{:.5g},{:.5g},{:.5g}]", list.empty() ? "" : ",", p.last,
                            p.mean, p.least, p.most);
      curves += fmt::format(R"({}{{"name":{},"p":[{}]}})", curves.empty() ? "" : ",",
                            nlohmann::json(names_[i]->name)
                                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                            list);
    }
    return fmt::format(
        R"({{"x0":{},"x1":{},"left":{},"right":{},"width":{},"unit":"{}","curves":[{}]}})",
        x_.least, x_.most, left, width - right, width, chart_.unit, curves);
  }

  std::string legend() const {
    if (names_.size() < 2) return {};
    std::string out = "<p class=\"legend\">";
    for (const Curve* curve : names_)
      out += fmt::format("<span><i class=\"key c{}\"></i>{}</span> ", curve->color,
                         html_escaped(curve->name));
    return out + "</p>\n";
  }

  std::string table() const {
    HtmlTable table{{"curve", "steps", "mean", "least", "most"}, {}};
    for (const Curve* curve : names_)
      for (const EnvelopePoint& point : envelope(curve->series, most_rows))
        table.rows.push_back(
            {curve->name,
             point.first == point.last ? fmt::format("{:.0f}", point.first)
                                       : fmt::format("{:.0f} to {:.0f}", point.first, point.last),
             value_text(point.mean), value_text(point.least), value_text(point.most)});
    return folded_table("Numbers", table);
  }

  const Chart& chart_;
  std::vector<const Curve*> names_;
  std::vector<std::vector<EnvelopePoint>> points_;
  Scale x_, y_;
};

}  // namespace

std::string chart_html(const Chart& chart) {
  const Drawing drawing(chart);
  return drawing.empty() ? std::string() : drawing.html();
}

}  // namespace triax
