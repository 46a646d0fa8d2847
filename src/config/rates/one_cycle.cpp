// SPDX-License-Identifier: Apache-2.0
// OneCycle: the values of DeepSpeed 0.19's lr_schedules.py under its engine (see warmup.cpp). With
// cycle_momentum beta1 moves against the learning rate and beta2 is 0.99; the first step has
// cycle_min_mom, the next ones begin at the other end of the cycle.
#include <fmt/format.h>

#include <cmath>

#include "src/config/rates/parameter.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {
using enum KeyType;

double steps_of_cycle(const RateStep& s) {
  return s.number("cycle_first_step_size") + s.number("cycle_second_step_size");
}

// Height in the cycle: 0 at both ends, 1 at the peak; in stairs if cycle_*_stair_count says so.
double cycle_height(const RateStep& s) {
  const double total = steps_of_cycle(s), first = s.number("cycle_first_step_size");
  const double position = std::fmod(static_cast<double>(s.step), total);
  const bool up = position <= first;
  const double height = up ? position / first : (total - position) / (total - first);
  const double stairs = s.number(up ? "cycle_first_stair_count" : "cycle_second_stair_count");
  if (stairs <= 0) return height;
  // From the whole step count, not from `height`: a rounding error must not cost a stair.
  return std::floor(up ? position * stairs / first
                       : (total - position) * stairs / (total - first)) /
         stairs;
}

bool decays(const RateStep& s) {
  return s.integer("decay_step_size") != 0;
}

// Intervals of the decay after the cycle.
double decay_intervals(const RateStep& s) {
  return (static_cast<double>(s.step - 1) - steps_of_cycle(s) + 1.0) / s.number("decay_step_size");
}

bool in_cycle(const RateStep& s) {
  return static_cast<double>(s.step - 1) < steps_of_cycle(s);
}

double rate(const RateStep& s) {
  const double least = s.number("cycle_min_lr");
  if (in_cycle(s)) return least + (s.number("cycle_max_lr") - least) * cycle_height(s);
  if (!decays(s)) return least;
  return least / (1.0 + s.number("decay_lr_rate") * decay_intervals(s));
}

double first_moment(const RateStep& s) {
  if (!s.flag("cycle_momentum")) return s.optimizer.beta1;
  const double least = s.number("cycle_min_mom"), most = s.number("cycle_max_mom");
  if (s.step == 0) return least;
  if (in_cycle(s)) return most - (most - least) * cycle_height(s);
  if (!decays(s)) return most;
  return most * (1.0 + s.number("decay_mom_rate") * decay_intervals(s));
}

double second_moment(const RateStep& s) {
  return s.flag("cycle_momentum") ? 0.99 : s.optimizer.beta2;
}

RateParameter plain(const char* name, KeyType type, nlohmann::json value, Allowed allowed,
                    const char* meaning) {
  return {parameter_key(name, type, std::move(value), std::move(allowed), meaning)};
}

RateParameter steps(const char* name, nlohmann::json value, double least, const char* meaning) {
  return {parameter_key(name, integer, std::move(value), at_least(least), meaning).in("steps")};
}

std::vector<RateParameter> parameters() {
  std::vector<RateParameter> all = {
      plain("cycle_min_lr", number, nullptr, at_least(0),
            "learning rate at both ends of the cycle; must be given"),
      plain("cycle_max_lr", number, nullptr, at_least(0),
            "learning rate at the cycle's peak; must be given"),
      plain("decay_lr_rate", number, 0.0, at_least(0),
            "after the cycle: lr / (1 + rate x intervals)"),
      steps("cycle_first_step_size", 2000, 1, "steps up"),
      steps("cycle_second_step_size", "auto", 0, "steps down; auto: the same as up"),
      plain("cycle_first_stair_count", integer, 0, at_least(0), "stairs up; 0: a ramp"),
      plain("cycle_second_stair_count", integer, "auto", at_least(0),
            "stairs down; auto: the same as up"),
      steps("decay_step_size", 0, 0,
            "length of an interval of the decay after the cycle; 0: no decay"),
      plain("cycle_momentum", boolean, true, anything(),
            "cycle beta1 against the learning rate; beta2 becomes 0.99, as in DeepSpeed"),
      plain("cycle_min_mom", number, 0.8, from_below(0, 1), "beta1 at the cycle's peak"),
      plain("cycle_max_mom", number, 0.9, from_below(0, 1), "beta1 at both ends of the cycle"),
      plain("decay_mom_rate", number, 0.0, at_least(0),
            "after the cycle: beta1 x (1 + rate x intervals)")};
  all[0].required = all[1].required = true;
  all[4].automatic = parameter_path("cycle_first_step_size");
  all[6].automatic = parameter_path("cycle_first_stair_count");
  return all;
}

// DeepSpeed grows beta1 after the cycle without bound: cycle_max_mom (1 + decay_mom_rate x
// intervals). At 1 and above, the first moment is not a mean.
void check_moments(Settings& s, ErrorList& errors) {
  const std::string growth = parameter_path("decay_mom_rate");
  const std::string interval = parameter_path("decay_step_size");
  const std::string up = parameter_path("cycle_first_step_size");
  const std::string down = parameter_path("cycle_second_step_size");
  const std::string most = parameter_path("cycle_max_mom");
  const std::string cycled = parameter_path("cycle_momentum");
  if (!s.sound({growth, interval, up, down, most, cycled, "run.steps"})) return;
  if (!s.has("run.steps")) return;  // of run.epochs: not counted yet
  if (!s.boolean(cycled) || s.integer(interval) == 0 || s.number(growth) == 0.0 ||
      s.number(most) == 0.0)
    return;
  const double intervals = (1.0 / s.number(most) - 1.0) / s.number(growth);
  const double step = std::ceil(s.number(up) + s.number(down) + intervals * s.number(interval));
  if (step >= s.number("run.steps")) return;
  s.error(errors, growth,
          fmt::format("{} raises beta1 to 1 at step {:.0f} of run.steps {}, and a mean needs less "
                      "than 1. Lower it, or raise {}",
                      s.number(growth), step + 1.0, s.integer("run.steps"), interval));
}

void check_cycle(Settings& settings, ErrorList& errors) {
  check_order(settings, errors, "cycle_min_lr", "cycle_max_lr");
  check_order(settings, errors, "cycle_min_mom", "cycle_max_mom");
  check_moments(settings, errors);
}

}  // namespace

const RateSchedule one_cycle = {.name = "OneCycle",
                                .rate = rate,
                                .parameters = parameters,
                                .peak_parameter = "cycle_max_lr",
                                .check = check_cycle,
                                .beta1 = first_moment,
                                .beta2 = second_moment};

}  // namespace triax::rates
