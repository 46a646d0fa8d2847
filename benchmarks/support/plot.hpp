#pragma once
// Plots of results, as SVG (1.1) that a browser and a report take as it is.
#include <string>
#include <vector>

namespace triax::benchmark {

struct Bar {
  std::string label;
  std::vector<double> values;  // one a group; negative: none
};

/// Bars from the left, grouped by label, a colour a group with its name in a legend. The axis
/// begins at 0; a line stands at 1 where `limit` (values are fractions of one).
std::string bar_plot(const std::string& title, const std::vector<std::string>& groups,
                     const std::vector<Bar>& bars, bool limit);

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // by growing x, at least one
};

/// Curves on two logarithmic axes of base 2, each with a dashed line of the slope that its first
/// point would keep.
std::string scaling_plot(const std::string& title, const std::string& x, const std::string& y,
                         const std::vector<Curve>& curves);

}  // namespace triax::benchmark
