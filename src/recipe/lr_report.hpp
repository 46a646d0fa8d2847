// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts about the learning rate of a run: the line at its start, and warnings.
#include <cstdint>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// "learning rate up to 0.002 by cosine: 0.0001 at step 0, 0.0002 at step 899": of the run's steps
/// from `first` on.
std::string rate_text(const Config& config, std::int64_t first);

/// A warning for each part of the schedule that does not fit the run.
std::vector<std::string> rate_warnings(const Config& config);

/// Warning that another run.steps has moved the end of the schedule: the learning rate of the next
/// update, after `update` updates under `steps_there` steps, and now. Empty where the schedule does
/// not end at run.steps.
std::string moved_end(const Config& config, std::int64_t steps_there, std::int64_t update);

}  // namespace triax
