// SPDX-License-Identifier: Apache-2.0
// Checks of the learning rates and moments that the schedule gives to the steps of this run.
#include <fmt/format.h>

#include <cmath>

#include "src/config/resolve/resolve.hpp"

namespace triax {
namespace {

const std::string params = "scheduler.params.";

// A cosine schedule whose min_lr exceeds its initial rate would rise.
void check_least_rate(Settings& s, ErrorList& errors) {
  const std::string least = params + "min_lr", rate = "optimizer.params.lr";
  if (!s.sound({least, rate}) || s.number(least) <= s.number(rate)) return;
  s.error(errors, least,
          fmt::format("{} is more than {} {}, from which the cosine falls to it. Lower one or "
                      "raise the other",
                      s.number(least), rate, s.number(rate)));
}

// A schedule between two rates starts at the lower one.
void check_order(Settings& s, const std::string& least, const std::string& most,
                 ErrorList& errors) {
  if (!s.has(least) || !s.has(most) || !s.sound({least, most}) || s.number(least) <= s.number(most))
    return;
  s.error(errors, least,
          fmt::format("{} is more than {} {}. Lower one or raise the other", s.number(least), most,
                      s.number(most)));
}

// DeepSpeed grows beta1 after the cycle without bound: cycle_max_mom (1 + decay_mom_rate x
// intervals). At 1 and above, AdamW's first moment is not a mean.
void check_moments(Settings& s, ErrorList& errors) {
  const std::string rate = params + "decay_mom_rate", interval = params + "decay_step_size";
  const std::string up = params + "cycle_first_step_size", down = params + "cycle_second_step_size";
  const std::string most = params + "cycle_max_mom";
  if (!s.sound({rate, interval, up, down, most, params + "cycle_momentum", "run.steps"})) return;
  if (!s.boolean(params + "cycle_momentum") || s.integer(interval) == 0 || s.number(rate) == 0.0 ||
      s.number(most) == 0.0)
    return;
  const double intervals = (1.0 / s.number(most) - 1.0) / s.number(rate);
  const double step = std::ceil(s.number(up) + s.number(down) + intervals * s.number(interval));
  if (step >= s.number("run.steps")) return;
  s.error(errors, rate,
          fmt::format("{} raises beta1 to 1 at step {:.0f} of run.steps {}, and AdamW needs less "
                      "than 1. Lower it, or raise {}",
                      s.number(rate), step + 1.0, s.integer("run.steps"), interval));
}

}  // namespace

void check_rates(Settings& s, ErrorList& errors) {
  if (!s.has("scheduler.type")) return;
  const std::string type = s.string("scheduler.type");
  if (type == "cosine") check_least_rate(s, errors);
  if (type == "WarmupLR" || type == "WarmupDecayLR")
    check_order(s, params + "warmup_min_lr", params + "warmup_max_lr", errors);
  if (type != "OneCycle") return;
  check_order(s, params + "cycle_min_lr", params + "cycle_max_lr", errors);
  check_order(s, params + "cycle_min_mom", params + "cycle_max_mom", errors);
  check_moments(s, errors);
}

}  // namespace triax
