// SPDX-License-Identifier: Apache-2.0
#include "src/report/envelope.hpp"

#include <algorithm>

namespace triax {

std::vector<EnvelopePoint> envelope(const Series& series, std::size_t most) {
  const std::size_t values = series.x.size(), points = std::min(values, most);
  std::vector<EnvelopePoint> result;
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t begin = i * values / points, end = (i + 1) * values / points;
    EnvelopePoint point{series.x[begin], series.x[end - 1], 0.0, series.y[begin], series.y[begin]};
    for (std::size_t k = begin; k < end; ++k) {
      point.mean += series.y[k] / static_cast<double>(end - begin);
      point.least = std::min(point.least, series.y[k]);
      point.most = std::max(point.most, series.y[k]);
    }
    result.push_back(point);
  }
  return result;
}

}  // namespace triax
