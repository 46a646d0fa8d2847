// SPDX-License-Identifier: Apache-2.0
// cosine: lr (s+1)/warmup while s < warmup, then half a cosine from lr to min_lr over the remaining
// steps.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/config/rates/parameter.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {
using enum KeyType;

double rate(const RateStep& s) {
  const std::int64_t warmup = s.integer("warmup");
  const double least = s.number("min_lr"), peak = s.peak();
  if (s.step < warmup) return peak * static_cast<double>(s.step + 1) / static_cast<double>(warmup);
  const double window = static_cast<double>(std::max<std::int64_t>(1, s.total_steps - warmup));
  const double progress = std::min(1.0, static_cast<double>(s.step - warmup) / window);
  return least + (peak - least) / 2.0 * (1.0 + std::cos(std::numbers::pi * progress));
}

std::vector<RateParameter> parameters() {
  return {{parameter_key("warmup", integer, 0, at_least(0),
                         "lr x (s+1) / warmup while step s < warmup; auto: 0")
               .in("steps")
               .or_auto()
               .or_fraction(),
           0},
          {parameter_key("min_lr", number, 0.0, at_least(0),
                         "learning rate that the cosine falls to; auto: 0")
               .or_auto(),
           0.0}};
}

void check_least(Settings& settings, ErrorList& errors) {
  check_falls(settings, errors, "min_lr", "cosine");
}

}  // namespace

const RateSchedule cosine = {.name = "cosine",
                             .rate = rate,
                             .parameters = parameters,
                             .warmup_parameter = "warmup",
                             .check = check_least};

}  // namespace triax::rates
