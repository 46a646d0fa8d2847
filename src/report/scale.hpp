// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales of axes: from values to positions, and the values that are written beside an axis.
#include <vector>

namespace triax {

struct Scale {
  double least = 0.0, most = 1.0;  // of the values
  bool logarithmic = false;
  /// Position of a value in [0, 1]; values beyond the ends are moved to them.
  double position(double value) const;
};

/// A scale that holds all of [least, most]; logarithmic if asked for and both are positive.
Scale scale_for(double least, double most, bool logarithmic);
/// Round values to write beside the axis, about `count` of them.
std::vector<double> ticks(const Scale& scale, int count);

}  // namespace triax
