// SPDX-License-Identifier: Apache-2.0
#pragma once
// A curve with few points that hides no extreme of the many it stands for.
#include <cstddef>
#include <vector>

#include "src/report/run_data.hpp"

namespace triax {

/// A range of steps: its last value, mean, and extremes.
struct EnvelopePoint {
  double first = 0.0, last = 0.0;  // steps
  double mean = 0.0, least = 0.0, most = 0.0;
};

/// At most `most` points of equal numbers of steps, in order; one per value where there are no more
/// than that.
std::vector<EnvelopePoint> envelope(const Series& series, std::size_t most);

}  // namespace triax
