// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chart of curves over steps: an SVG picture, and the numbers behind it in a table.
#include <string>
#include <vector>

#include "src/report/envelope.hpp"

namespace triax {

struct Curve {
  std::string name;
  int color = 0;
  Series series;
};

struct Chart {
  std::string title, unit;  // unit "bytes": values are written as MB, GB
  std::vector<Curve> curves;
};

/// A figure; empty if no curve has points.
std::string chart_html(const Chart& chart);

}  // namespace triax
