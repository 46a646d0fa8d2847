// SPDX-License-Identifier: Apache-2.0
#include "src/config/rates/linear_warmup.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

namespace triax {

std::vector<RateParameter> with_warmup(std::vector<RateParameter> more) {
  std::vector<RateParameter> all = {
      {parameter_key("num_warmup_steps", KeyType::integer, 0, at_least(0),
                     "steps of the warm-up, which starts at learning rate 0; auto: 0")
           .in("steps")
           .or_auto()
           .or_fraction(),
       0}};
  std::ranges::move(more, std::back_inserter(all));
  return all;
}

RateParameter cosine_cycles() {
  return {parameter_key("num_cycles", KeyType::number, 0.5, at_least(0),
                        "waves of the cosine; 0.5: from the peak to the minimum once")};
}

std::optional<double> warmup_progress(const RateStep& s) {
  const std::int64_t warmup = s.integer("num_warmup_steps");
  if (s.step >= warmup) return {};
  return static_cast<double>(s.step) / static_cast<double>(warmup);
}

double decay_progress(const RateStep& s) {
  const std::int64_t warmup = s.integer("num_warmup_steps");
  return static_cast<double>(s.step - warmup) /
         static_cast<double>(std::max<std::int64_t>(1, s.total_steps - warmup));
}

double cosine_height(double cycles, double progress) {
  return 0.5 * (1.0 + std::cos(std::numbers::pi * cycles * 2.0 * progress));
}

}  // namespace triax
