// SPDX-License-Identifier: Apache-2.0
// warmup_stable_decay (WSD), as in Hugging Face's get_wsd_schedule: a warm-up, the peak, and a
// decay that ends at run.steps unless num_stable_steps says otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/config/rates/linear_warmup.hpp"
#include "src/config/rates/rows.hpp"

namespace triax::rates {
namespace {
using enum KeyType;

// Step at which the decay begins.
std::int64_t decay_begin(const RateStep& s) {
  if (s.has("num_stable_steps"))
    return s.integer("num_warmup_steps") + s.integer("num_stable_steps");
  return s.total_steps - s.integer("num_decay_steps");
}

// Height of the warm-up: 0 at its begin, 1 at its end.
double warmup_height(const std::string& type, double progress) {
  if (type == "linear") return progress;
  if (type == "cosine") return 0.5 * (1.0 - std::cos(std::numbers::pi * progress));
  return 1.0 - std::sqrt(1.0 - progress);
}

// Height of the decay: 1 at its begin, 0 at its end.
double decay_height(const std::string& type, double cycles, double progress) {
  if (type == "linear") return 1.0 - progress;
  if (type == "cosine") return cosine_height(cycles, progress);
  return 1.0 - std::sqrt(progress);
}

double rate(const RateStep& s) {
  const double least = s.number("min_lr_ratio");
  const auto above_least = [&](double height) {
    return s.peak() * std::max(0.0, height * (1.0 - least) + least);
  };
  if (const auto risen = warmup_progress(s))
    return above_least(warmup_height(s.word("warmup_type"), *risen));
  const std::int64_t begin = decay_begin(s), decay = s.integer("num_decay_steps");
  if (s.step < begin) return s.peak();
  if (s.step >= begin + decay) return s.peak() * least;
  return above_least(
      decay_height(s.word("decay_type"), s.number("num_cycles"),
                   static_cast<double>(s.step - begin) / static_cast<double>(decay)));
}

std::vector<RateParameter> parameters() {
  const Allowed forms = one_of({"linear", "cosine", "1-sqrt"});
  return with_warmup(
      {{parameter_key("num_decay_steps", integer, nullptr, at_least(0),
                      "steps of the decay; must be given")
            .in("steps")
            .or_fraction(),
        nullptr, true},
       {parameter_key("num_stable_steps", integer, nullptr, at_least(0),
                      "steps at the peak; absent: those that warm-up and decay leave of run.steps")
            .in("steps")},
       {parameter_key("warmup_type", string, "linear", forms, "form of the warm-up")},
       {parameter_key("decay_type", string, "cosine", forms, "form of the decay")},
       {parameter_key("min_lr_ratio", number, 0.0, from_to(0, 1),
                      "learning rate before the warm-up and after the decay, as a fraction of the "
                      "optimizer's")},
       cosine_cycles()});
}

void check_steps(Settings& s, ErrorList& errors) {
  const std::string warmup = parameter_path("num_warmup_steps");
  const std::string stable = parameter_path("num_stable_steps");
  const std::string decay = parameter_path("num_decay_steps");
  if (!s.sound({warmup, stable, decay, "run.steps"}) || s.has(stable)) return;
  if (!s.has("run.steps")) return;  // of run.epochs: not counted yet
  if (s.integer(decay) <= s.integer("run.steps") - s.integer(warmup)) return;
  s.error(
      errors, decay,
      fmt::format("{} and num_warmup_steps {} are more than run.steps {}. Lower one of them, or "
                  "raise run.steps",
                  s.integer(decay), s.integer(warmup), s.integer("run.steps")));
}

std::optional<RateEnd> end(const RateStep& s) {
  if (!s.has("num_stable_steps")) return {};
  return RateEnd{"num_stable_steps", decay_begin(s) + s.integer("num_decay_steps")};
}

}  // namespace

const RateSchedule warmup_stable_decay = {.name = "warmup_stable_decay",
                                          .rate = rate,
                                          .parameters = parameters,
                                          .warmup_parameter = "num_warmup_steps",
                                          .check = check_steps,
                                          .end = end};

}  // namespace triax::rates
