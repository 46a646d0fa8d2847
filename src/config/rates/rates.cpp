// SPDX-License-Identifier: Apache-2.0
#include "src/config/rates/rates.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "src/config/rates/rows.hpp"

namespace triax {
namespace {

constexpr const RateSchedule* table[] = {&rates::constant,
                                         &rates::warmup_lr,
                                         &rates::warmup_decay_lr,
                                         &rates::warmup_cosine_lr,
                                         &rates::one_cycle,
                                         &rates::lr_range_test,
                                         &rates::cosine,
                                         &rates::constant_with_warmup,
                                         &rates::linear,
                                         &rates::polynomial,
                                         &rates::inverse_sqrt,
                                         &rates::cosine_with_restarts,
                                         &rates::cosine_with_min_lr,
                                         &rates::cosine_warmup_with_min_lr,
                                         &rates::warmup_stable_decay};

}  // namespace

double RateStep::number(const std::string& name) const {
  const auto found = scheduler.numbers.find(name);
  check(found != scheduler.numbers.end(), "{} has no number {}", scheduler.type, name);
  return found->second;
}

std::int64_t RateStep::integer(const std::string& name) const {
  constexpr double longest = 9e15;  // beyond any run, and two of them can be added
  return static_cast<std::int64_t>(std::min(number(name), longest));
}

const std::string& RateStep::word(const std::string& name) const {
  const auto found = scheduler.words.find(name);
  check(found != scheduler.words.end(), "{} has no word {}", scheduler.type, name);
  return found->second;
}

std::span<const RateSchedule* const> rate_schedules() {
  return table;
}

const RateSchedule& rate_schedule(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(table, [&](const RateSchedule* row) { return row->name == name; });
  check(found != std::end(table), "no learning-rate schedule is called \"{}\"", name);
  return **found;
}

}  // namespace triax
