// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grid of a command without a job file, from --set parallel.KEY=VALUE.
#include <string>
#include <vector>

#include "src/comm/grid/grid_shape.hpp"

namespace triax {

/// Shape of the grid for `ranks` ranks: keys of the job file's section `parallel`; data "auto" or
/// left out is what the others leave. UsageError for other keys and values.
GridShape grid_of_overrides(const std::vector<std::string>& overrides, int ranks);

}  // namespace triax
