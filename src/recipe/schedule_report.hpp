#pragma once
// What a run says of its learning rates.
#include <cstdint>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// "learning rate up to 0.002 by cosine: 0.0001 at step 0, 0.0002 at step 899": of the run's steps
/// from `first` on.
std::string rate_text(const Config& config, std::int64_t first);

/// A line for each part of the schedule that does not fit the run.
std::vector<std::string> rate_surprises(const Config& config);

/// A cosine ends at run.steps: what another run.steps, of the job that `update` updates were made
/// by, changes of the rate of the next one. Empty where it changes nothing.
std::string moved_cosine(const Config& config, std::int64_t steps_there, std::int64_t update);

}  // namespace triax
