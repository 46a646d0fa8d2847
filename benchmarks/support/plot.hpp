// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plots of results as SVG 1.1.
#include <string>
#include <vector>

namespace triax::benchmark {

struct Bar {
  std::string label;
  std::vector<double> values;  // one per group; negative: missing
};

/// Horizontal bars, grouped by label, one colour per group with its name in a legend. The axis
/// begins at 0. A non-empty `limit` adds a line at 1 (values are then fractions of it).
std::string bar_plot(const std::string& title, const std::vector<std::string>& groups,
                     const std::vector<Bar>& bars, bool limit);

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // ascending in x, at least one
};

/// Curves on two logarithmic axes of base 2, each with a dashed line that continues the slope of
/// its first point.
std::string scaling_plot(const std::string& title, const std::string& x, const std::string& y,
                         const std::vector<Curve>& curves);

}  // namespace triax::benchmark
