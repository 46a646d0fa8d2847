// SPDX-License-Identifier: Apache-2.0
#include "src/config/resolve/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace triax {
namespace {

void check_clipping(Settings& s, ErrorList& errors) {
  const std::string norm = "gradient_clipping", value = "gradient_clipping_value";
  if (!s.has(value) || !s.sound({norm, value})) return;
  if (s.number(norm) == 0.0 || s.number(value) == 0.0) return;
  s.error(errors, value,
          fmt::format("{} clips each element, but {} {} clips the norm. Set one of them to 0",
                      s.number(value), norm, s.number(norm)));
}

void check_trainability(Settings& s, ErrorList& errors) {
  const auto some = [&](const std::string& key) { return s.has(key) && !s.at(key).value.empty(); };
  if (some("freeze") && some("train_only"))
    s.error(errors, "train_only",
            "it freezes all other tensors already, and freeze is set too. Set one of them");
}

}  // namespace

void check_time(Settings& s, ErrorList& errors) {
  const std::string leave = "run.stop_before_end", limit = "run.time_limit";
  if (s.seconds(limit) == 0.0 || s.seconds(leave) < s.seconds(limit)) return;
  s.error(
      errors, leave,
      fmt::format("{:g} s is all of run.time_limit, {:g} s: the run would stop before its first "
                  "step. Set it to the time of one step and two files, or raise run.time_limit",
                  s.seconds(leave), s.seconds(limit)));
}

void check_loss_spike(Settings& s, ErrorList& errors) {
  const std::string action = "run.loss_spike.action", interval = "checkpoint.interval";
  if (!s.sound({action, interval}) || s.string(action) != "rollback" || s.number(interval) > 0.0)
    return;
  s.error(errors, action,
          "\"rollback\" goes back to a checkpoint, and checkpoint.interval 0 writes none before "
          "the end. Set checkpoint.interval, or this key to \"stop\" or \"warn\"");
}

void check_average(Settings& s, ErrorList& errors) {
  const std::string decay = "run.ema.decay", interval = "run.ema.interval";
  if (!s.has(interval) || s.has(decay) || !s.sound({decay})) return;
  s.error(errors, interval,
          "it is the interval of an average of the weights, which run.ema.decay asks for. Set "
          "run.ema.decay, or leave this out");
}

void check_trace(Settings& s, ErrorList& errors) {
  const std::string key = "run.trace_steps", all = "run.steps";
  if (!s.has(key) || !s.sound({key, all})) return;
  const nlohmann::json& value = s.at(key).value;
  constexpr std::int64_t most = 100;
  const bool whole = value.size() == 2 && std::ranges::all_of(value, [](const auto& number) {
                       return number.is_number_integer() && number >= 0;
                     });
  const std::int64_t first = whole ? value[0].get<std::int64_t>() : 0;
  const std::int64_t count = whole ? value[1].get<std::int64_t>() - first : 0;
  if (count < 1 || count > most)
    return s.error(
        errors, key,
        fmt::format("{} is not [first, end] with first < end, both whole numbers from 0, "
                    "and at most {} steps. Set it to [10, 12] to trace steps 10 and 11",
                    value.dump(), most));
  if (s.has(all) && first >= s.integer(all))  // of run.epochs: not counted yet
    s.error(errors, key,
            fmt::format("{} traces nothing: run.steps is {}, and steps count from 0. Lower it, or "
                        "leave it out",
                        value.dump(), s.integer(all)));
}

void resolve_training(Settings& s, ErrorList& errors) {
  resolve_precision(s, errors);
  resolve_optimizer(s, errors);
  // "auto" comes from files of Hugging Face's Trainer: the defaults are its TrainingArguments'.
  if (s.is_auto("gradient_clipping")) s.resolve("gradient_clipping", 1.0);  // max_grad_norm
  check_clipping(s, errors);
  check_trainability(s, errors);
  s.default_for_auto("steps_per_print");
  resolve_scheduler(s, errors);
  check_groups(s, errors);
}

}  // namespace triax
