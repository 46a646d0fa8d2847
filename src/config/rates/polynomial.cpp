// SPDX-License-Identifier: Apache-2.0
// polynomial, as in Hugging Face's get_polynomial_decay_schedule_with_warmup: falls to lr_end at
// run.steps.
#include <cmath>

#include "src/config/rates/linear_warmup.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {
using enum KeyType;

double rate(const RateStep& s) {
  if (const auto risen = warmup_progress(s)) return s.peak() * *risen;
  const double last = s.number("lr_end");
  if (s.step > s.total_steps) return last;
  return (s.peak() - last) * std::pow(1.0 - decay_progress(s), s.number("power")) + last;
}

std::vector<RateParameter> parameters() {
  return with_warmup(
      {{parameter_key("lr_end", number, 1e-7, at_least(0), "learning rate at run.steps")},
       {parameter_key("power", number, 1.0, above(0), "power of the polynomial; 1: a line")}});
}

void check_last(Settings& settings, ErrorList& errors) {
  check_falls(settings, errors, "lr_end", "polynomial");
}

}  // namespace

const RateSchedule polynomial = {.name = "polynomial",
                                 .rate = rate,
                                 .parameters = parameters,
                                 .warmup_parameter = "num_warmup_steps",
                                 .check = check_last};

}  // namespace triax::rates
