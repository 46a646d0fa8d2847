// SPDX-License-Identifier: Apache-2.0
// WarmupLR, WarmupDecayLR and WarmupCosineLR: the values of DeepSpeed 0.19's lr_schedules.py under
// its engine. The scheduler sets the first step's rate when it is made, and moves on after each
// optimizer step, so that step s >= 1 trains with the scheduler's value at iteration s - 1. With a
// warm-up from 0 the first two steps therefore have rate 0. WarmupCosineLR's first step has rate 0
// whatever warmup_min_ratio.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/config/rates/parameter.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {
using enum KeyType;
using Parameters = std::vector<RateParameter>;

// Progress of the warm-up at an iteration inside it: 0 to 1.
double warmup_fraction(const RateStep& s, std::int64_t iteration, std::int64_t warmup) {
  if (s.word("warmup_type") == "linear")
    return static_cast<double>(iteration) / static_cast<double>(warmup);
  return std::log(static_cast<double>(iteration) + 1.0) / std::log(static_cast<double>(warmup));
}

// DeepSpeed takes at least two steps, so that the logarithm is not zero.
std::int64_t warmup_steps(const RateStep& s) {
  return std::max<std::int64_t>(2, s.integer("warmup_num_steps"));
}

// Constant after the warm-up.
double held(const RateStep& /*s*/, std::int64_t /*iteration*/) {
  return 1.0;
}

// Falls to 0 at total_num_steps.
double decaying(const RateStep& s, std::int64_t iteration) {
  const std::int64_t total = s.integer("total_num_steps");
  return std::max(0.0, static_cast<double>(total - iteration) /
                           static_cast<double>(std::max<std::int64_t>(1, total - warmup_steps(s))));
}

template <auto after>
double warmup_rate(const RateStep& s) {
  const double least = s.number("warmup_min_lr");
  const std::int64_t iteration = s.step - 1, warmup = warmup_steps(s);
  if (iteration < 0) return least;
  const double fraction =
      iteration < warmup ? warmup_fraction(s, iteration, warmup) : after(s, iteration);
  return least + (s.number("warmup_max_lr") - least) * fraction;
}

double cosine_rate(const RateStep& s) {
  const std::int64_t iteration = s.step - 1, warmup = warmup_steps(s);
  if (iteration < 0) return 0.0;
  const double first = s.number("warmup_min_ratio"), last = s.number("cos_min_ratio");
  if (iteration < warmup)
    return s.peak() * (first + warmup_fraction(s, iteration, warmup) * (1.0 - first));
  const auto window = std::max<std::int64_t>(1, s.integer("total_num_steps") - warmup);
  const double progress =
      std::min(1.0, static_cast<double>(iteration - warmup + 1) / static_cast<double>(window));
  const double ratio = (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  return s.peak() * std::max(0.0, last + (1.0 - last) * ratio);
}

RateParameter min_lr() {
  return {
      parameter_key("warmup_min_lr", number, 0.0, at_least(0), "learning rate of the first step")
          .or_auto(),
      0.0};
}

RateParameter max_lr(nlohmann::json default_value) {
  return {parameter_key("warmup_max_lr", number, std::move(default_value), at_least(0),
                        "learning rate after the warm-up; auto: the optimizer's")
              .or_auto(),
          "optimizer.params.lr"};
}

RateParameter num_steps() {
  return {parameter_key("warmup_num_steps", integer, 1000, at_least(0),
                        "steps of the warm-up, of which at least 2 are used; auto: 0")
              .in("steps")
              .or_auto()
              .or_fraction(),
          0};
}

RateParameter type() {
  return {parameter_key("warmup_type", string, "log", one_of({"log", "linear"}),
                        "form of the warm-up")};
}

RateParameter total() {
  return {parameter_key("total_num_steps", integer, "auto", at_least(1),
                        "step at which the decay ends; auto: run.steps")
              .in("steps"),
          "run.steps"};
}

Parameters warmup_parameters() {
  return {min_lr(), max_lr("auto"), num_steps(), type()};
}

Parameters decay_parameters() {
  return {min_lr(), max_lr(1e-3), num_steps(), type(), total()};
}

Parameters cosine_parameters() {
  return {num_steps(),
          type(),
          total(),
          {parameter_key("warmup_min_ratio", number, 0.0, from_to(0, 1),
                         "first learning rate, as a fraction of the optimizer's")},
          {parameter_key("cos_min_ratio", number, 1e-4, from_to(0, 1),
                         "last learning rate, as a fraction of the optimizer's")}};
}

void check_rates(Settings& settings, ErrorList& errors) {
  check_order(settings, errors, "warmup_min_lr", "warmup_max_lr");
}

// Step s has the rate of the scheduler's iteration s - 1.
std::optional<RateEnd> decay_end(const RateStep& s) {
  return RateEnd{"total_num_steps", s.integer("total_num_steps") + 1};
}

}  // namespace

const RateSchedule warmup_lr = {.name = "WarmupLR",
                                .rate = warmup_rate<held>,
                                .parameters = warmup_parameters,
                                .peak_parameter = "warmup_max_lr",
                                .warmup_parameter = "warmup_num_steps",
                                .check = check_rates};

const RateSchedule warmup_decay_lr = {.name = "WarmupDecayLR",
                                      .rate = warmup_rate<decaying>,
                                      .parameters = decay_parameters,
                                      .peak_parameter = "warmup_max_lr",
                                      .warmup_parameter = "warmup_num_steps",
                                      .check = check_rates,
                                      .end = decay_end};

const RateSchedule warmup_cosine_lr = {.name = "WarmupCosineLR",
                                       .rate = cosine_rate,
                                       .parameters = cosine_parameters,
                                       .warmup_parameter = "warmup_num_steps"};

}  // namespace triax::rates
