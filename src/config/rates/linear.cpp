// SPDX-License-Identifier: Apache-2.0
// linear, as in Hugging Face's get_linear_schedule_with_warmup: falls to 0 at run.steps.
#include <algorithm>

#include "src/config/rates/linear_warmup.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {

double rate(const RateStep& s) {
  if (const auto risen = warmup_progress(s)) return s.peak() * *risen;
  const std::int64_t decay = s.total_steps - s.integer("num_warmup_steps");
  return s.peak() * std::max(0.0, static_cast<double>(s.total_steps - s.step) /
                                      static_cast<double>(std::max<std::int64_t>(1, decay)));
}

}  // namespace

const RateSchedule linear = {.name = "linear",
                             .rate = rate,
                             .parameters = [] { return with_warmup({}); },
                             .warmup_parameter = "num_warmup_steps"};

}  // namespace triax::rates
