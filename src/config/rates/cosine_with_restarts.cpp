// SPDX-License-Identifier: Apache-2.0
// cosine_with_restarts, as in Hugging Face's get_cosine_with_hard_restarts_schedule_with_warmup:
// num_cycles half waves from the peak to 0, the last one up to run.steps.
#include <cmath>

#include "src/config/rates/linear_warmup.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {
using enum KeyType;

double rate(const RateStep& s) {
  if (const auto risen = warmup_progress(s)) return s.peak() * *risen;
  const double progress = decay_progress(s);
  if (progress >= 1.0) return 0.0;
  return s.peak() * cosine_height(0.5, std::fmod(s.number("num_cycles") * progress, 1.0));
}

std::vector<RateParameter> parameters() {
  return with_warmup({{parameter_key("num_cycles", integer, 1, at_least(1),
                                     "falls from the peak to 0, one after another")}});
}

}  // namespace

const RateSchedule cosine_with_restarts = {.name = "cosine_with_restarts",
                                           .rate = rate,
                                           .parameters = parameters,
                                           .warmup_parameter = "num_warmup_steps"};

}  // namespace triax::rates
