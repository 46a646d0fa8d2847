// SPDX-License-Identifier: Apache-2.0
// cosine_with_min_lr and cosine_warmup_with_min_lr, as in Hugging Face's
// get_cosine_with_min_lr_schedule_with_warmup and its sibling with warmup_lr_rate, whose steps
// count from 1. With "min_lr": 0 the first is Hugging Face's cosine.
#include <algorithm>

#include "src/config/rates/linear_warmup.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {
using enum KeyType;

// Least rate as a fraction of the optimizer's.
double least_ratio(const RateStep& s) {
  if (s.has("min_lr_rate")) return s.number("min_lr_rate");
  return s.peak() > 0.0 ? s.number("min_lr") / s.peak() : 0.0;
}

double wave(const RateStep& s, double progress) {
  const double least = least_ratio(s);
  const double height = cosine_height(s.number("num_cycles"), progress);
  return s.peak() * std::max(0.0, height * (1.0 - least) + least);
}

double rate(const RateStep& s) {
  const auto risen = warmup_progress(s);
  return risen ? s.peak() * *risen : wave(s, decay_progress(s));
}

double rate_from_one(const RateStep& s) {
  RateStep next = s;
  ++next.step;
  const std::int64_t warmup = s.integer("num_warmup_steps");
  if (s.step >= warmup) return wave(s, decay_progress(next));
  if (!s.has("warmup_lr_rate"))
    return s.peak() * (static_cast<double>(next.step) / static_cast<double>(warmup));
  const double first = s.number("warmup_lr_rate");
  return s.peak() * (first + (1.0 - first) * static_cast<double>(s.step) /
                                 static_cast<double>(std::max<std::int64_t>(1, warmup - 1)));
}

std::vector<RateParameter> parameters() {
  return with_warmup(
      {cosine_cycles(),
       {parameter_key("min_lr", number, nullptr, at_least(0),
                      "learning rate that the cosine falls to; this or min_lr_rate is needed")},
       {parameter_key("min_lr_rate", number, nullptr, from_to(0, 1),
                      "the same, as a fraction of the optimizer's learning rate")}});
}

std::vector<RateParameter> parameters_from_one() {
  std::vector<RateParameter> all = parameters();
  all.push_back({parameter_key("warmup_lr_rate", number, nullptr, from_to(0, 1),
                               "first learning rate, as a fraction of the optimizer's; absent: "
                               "1 / num_warmup_steps")});
  return all;
}

void check_least(Settings& s, ErrorList& errors) {
  const std::string rate = parameter_path("min_lr"), ratio = parameter_path("min_lr_rate");
  if (!s.sound({rate, ratio})) return;
  if (s.has(rate) && s.has(ratio))
    s.error(errors, ratio, "says the same as min_lr. Leave out one of them");
  if (!s.has(rate) && !s.has(ratio))
    s.error(errors, rate, "missing. Set it or min_lr_rate: the cosine falls to it");
  check_falls(s, errors, "min_lr", "cosine");
}

}  // namespace

const RateSchedule cosine_with_min_lr = {.name = "cosine_with_min_lr",
                                         .rate = rate,
                                         .parameters = parameters,
                                         .warmup_parameter = "num_warmup_steps",
                                         .check = check_least};

const RateSchedule cosine_warmup_with_min_lr = {.name = "cosine_warmup_with_min_lr",
                                                .rate = rate_from_one,
                                                .parameters = parameters_from_one,
                                                .warmup_parameter = "num_warmup_steps",
                                                .check = check_least};

}  // namespace triax::rates
