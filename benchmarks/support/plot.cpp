// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace triax::benchmark {
namespace {

// Okabe and Ito's colours, which the colour-blind can distinguish, also in grey.
constexpr std::array<const char*, 6> colours = {"#0072b2", "#e69f00", "#009e73",
                                                "#d55e00", "#cc79a7", "#56b4e9"};

const char* colour(std::size_t index) {
  return colours[index % colours.size()];
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

std::string text_at(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)"
                     "\n",
                     x, y, anchor, escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* stroke,
                 const char* more = "") {
  return fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" {}/>)"
                     "\n",
                     x1, y1, x2, y2, stroke, more);
}

std::string page(double width, double height, const std::string& title, const std::string& body) {
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" )"
                     R"(viewBox="0 0 {0:.0f} {1:.0f}" font-family="sans-serif" font-size="12">)"
                     "\n"
                     R"(<rect width="100%" height="100%" fill="white"/>)"
                     "\n",
                     width, height) +
         fmt::format(R"(<text x="10" y="20" font-size="15">{}</text>)"
                     "\n",
                     escaped(title)) +
         body + "</svg>\n";
}

std::string legend(const std::vector<std::string>& names, double x, double y) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i, y += 16) {
    out += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="10" height="10" fill="{}"/>)"
                       "\n",
                       x, y - 9, colour(i));
    out += text_at(x + 16, y, names[i]);
  }
  return out;
}

// Step of an axis: 1, 2 or 5 times a power of ten, so that five to ten steps reach `most`.
double tick_of(double most) {
  const double power = std::pow(10.0, std::floor(std::log10(most)));
  for (const double step : {0.1, 0.2, 0.5})
    if (most / (step * power) <= 10.0) return step * power;
  return power;
}

struct Range {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

}  // namespace

std::string bar_plot(const std::string& title, const std::vector<std::string>& groups,
                     const std::vector<Bar>& bars, bool limit) {
  constexpr double thick = 12, gap = 8, plot = 480, top = 36;
  double most = limit ? 1.0 : 0.0;
  std::size_t longest = 0;
  for (const Bar& bar : bars) {
    longest = std::max(longest, bar.label.size());
    for (const double value : bar.values) most = std::max(most, value);
  }
  if (most <= 0) most = 1;
  const double left = 20 + 6.6 * static_cast<double>(longest);
  const double row = thick * static_cast<double>(groups.size()) + gap;
  const double bottom = top + row * static_cast<double>(bars.size());
  const auto x_of = [&](double value) { return left + plot * value / most; };
  std::string body;
  const double tick = tick_of(most);
  for (int i = 0; i * tick <= most * 1.0001; ++i) {
    body += line(x_of(i * tick), top, x_of(i * tick), bottom, "#dddddd");
    body += text_at(x_of(i * tick), bottom + 16, fmt::format("{:.4g}", i * tick), "middle");
  }
  for (std::size_t b = 0; b < bars.size(); ++b) {
    const double y = top + row * static_cast<double>(b);
    body += text_at(left - 6, y + (row - gap) / 2 + 4, bars[b].label, "end");
    for (std::size_t g = 0; g < bars[b].values.size(); ++g)
      if (bars[b].values[g] >= 0)
        body +=
            fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"/>)"
                        "\n",
                        left, y + thick * static_cast<double>(g), x_of(bars[b].values[g]) - left,
                        thick, colour(g));
  }
  if (limit) body += line(x_of(1), top, x_of(1), bottom, "black", R"(stroke-dasharray="4 3")");
  const bool told = groups.size() > 1;
  if (told) body += legend(groups, left + plot + 20, top + 12);
  return page(left + plot + (told ? 240 : 30), bottom + 30, title, body);
}

std::string scaling_plot(const std::string& title, const std::string& x, const std::string& y,
                         const std::vector<Curve>& curves) {
  constexpr double left = 80, top = 56, width = 420, height = 320;
  Range across, up;
  std::vector<std::string> names;
  for (const Curve& curve : curves) {
    names.push_back(curve.name);
    for (const auto& [px, py] : curve.points) {
      across.add(px);
      up.add(py);
    }
    const auto& [fx, fy] = curve.points.front();
    up.add(fy * curve.points.back().first / fx);  // end of the line with the first point's slope
  }
  const auto place = [](double value, const Range& range) {
    const double span = std::log2(range.most / range.least);
    return span > 0 ? std::log2(value / range.least) / span : 0.5;
  };
  const auto x_of = [&](double value) { return left + width * place(value, across); };
  const auto y_of = [&](double value) { return top + height * (1 - place(value, up)); };
  std::string body = line(left, top + height, left + width, top + height, "black") +
                     line(left, top, left, top + height, "black");
  for (double value = across.least; value <= across.most * 1.0001; value *= 2)
    body += text_at(x_of(value), top + height + 18, fmt::format("{:.4g}", value), "middle");
  for (double value = up.least; value <= up.most * 1.0001; value *= 2)
    body += text_at(left - 6, y_of(value) + 4, fmt::format("{:.3g}", value), "end");
  body += text_at(left + width / 2, top + height + 38, x, "middle");
  body += text_at(left, top - 8, y);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const auto& points = curves[c].points;
    const double slope = points.front().second / points.front().first;
    body += line(x_of(points.front().first), y_of(points.front().second), x_of(points.back().first),
                 y_of(points.back().first * slope), colour(c), R"(stroke-dasharray="4 3")");
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double px = x_of(points[i].first), py = y_of(points[i].second);
      body += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>)"
                          "\n",
                          px, py, colour(c));
      if (i > 0)
        body += line(x_of(points[i - 1].first), y_of(points[i - 1].second), px, py, colour(c),
                     R"(stroke-width="2")");
    }
  }
  body += legend(names, left + width + 20, top + 12);
  return page(left + width + 320, top + height + 50, title, body);
}

}  // namespace triax::benchmark
