// SPDX-License-Identifier: Apache-2.0
// inverse_sqrt, as in Hugging Face's get_inverse_sqrt_schedule: falls without end, whatever
// run.steps.
#include <cmath>

#include "src/config/rates/linear_warmup.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {
using enum KeyType;

std::int64_t timescale(const RateStep& s) {
  if (s.has("timescale")) return s.integer("timescale");
  const std::int64_t warmup = s.integer("num_warmup_steps");
  return warmup > 0 ? warmup : 10'000;
}

double rate(const RateStep& s) {
  if (const auto risen = warmup_progress(s)) return s.peak() * *risen;
  const std::int64_t scale = timescale(s), shift = scale - s.integer("num_warmup_steps");
  return s.peak() *
         (1.0 / std::sqrt(static_cast<double>(s.step + shift) / static_cast<double>(scale)));
}

std::vector<RateParameter> parameters() {
  return with_warmup({{parameter_key("timescale", integer, nullptr, at_least(1),
                                     "steps after the warm-up in which the learning rate falls to "
                                     "its 1/sqrt(2); absent: num_warmup_steps, or 10000 without "
                                     "warm-up")
                           .in("steps")}});
}

}  // namespace

const RateSchedule inverse_sqrt = {.name = "inverse_sqrt",
                                   .rate = rate,
                                   .parameters = parameters,
                                   .warmup_parameter = "num_warmup_steps"};

}  // namespace triax::rates
