// SPDX-License-Identifier: Apache-2.0
#include "src/report/scale.hpp"

#include <algorithm>
#include <cmath>

namespace triax {
namespace {

// The distance of ticks: 1, 2 or 5 times a power of ten.
double round_step(double span, int count) {
  const double raw = span / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power) return factor * power;
  return 10.0 * power;
}

}  // namespace

double Scale::position(double value) const {
  const double share = logarithmic ? std::log(value / least) / std::log(most / least)
                                   : (value - least) / (most - least);
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
}

Scale scale_for(double least, double most, bool logarithmic) {
  if (!(most > least)) {
    const double margin = least == 0.0 ? 1.0 : 0.1 * std::abs(least);
    return {least - margin, least + margin, false};
  }
  return {least, most, logarithmic && least > 0.0};
}

std::vector<double> ticks(const Scale& scale, int count) {
  std::vector<double> values;
  if (scale.logarithmic) {
    const double decades = std::log10(scale.most / scale.least);
    const int every = std::max(1, static_cast<int>(decades / count));
    for (double power = std::ceil(std::log10(scale.least)); power <= std::log10(scale.most);
         power += every)
      values.push_back(std::pow(10.0, power));
    if (values.size() > 1) return values;
    values.clear();
  }
  const double step = round_step(scale.most - scale.least, count);
  for (double tick = std::ceil(scale.least / step) * step; tick <= scale.most + 1e-9 * step;
       tick += step)
    values.push_back(std::abs(tick) < 1e-9 * step ? 0.0 : tick);
  return values;
}

}  // namespace triax
