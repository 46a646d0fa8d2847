// SPDX-License-Identifier: Apache-2.0
// Keys that count steps: run.epochs in place of run.steps, fractions of run.steps, and the end by
// early stopping.
#include <fmt/format.h>

#include <cmath>

#include "src/config/resolve/resolve.hpp"

namespace triax {
namespace {

const std::string steps_key = "run.steps", epochs_key = "run.epochs";

// Sources are blended to weights: one of them may end its second epoch before another one has ended
// its first.
bool blends_sources(const Settings& s) {
  if (!s.has("data.train") || !s.sound({"data.train"})) return false;
  const nlohmann::json& train = s.at("data.train").value;
  return train.is_array() && train.size() > 1 && train.front().is_object();
}

void resolve_epochs(Settings& s, std::optional<std::int64_t> counted, ErrorList& errors) {
  if (!s.has(epochs_key) || !s.sound({epochs_key, steps_key})) return;
  if (s.given(steps_key) && s.has(steps_key))
    return s.error(errors, epochs_key,
                   fmt::format("run.steps {} ({}) sets the steps, too. Leave one of them out, or "
                               "set it to null",
                               s.integer(steps_key), s.at(steps_key).source));
  if (blends_sources(s))
    return s.error(errors, epochs_key,
                   "data.train blends sources to weights, and each of them ends an epoch at a step "
                   "of its own. Set run.steps, or list the files without weights");
  s.resolve(steps_key, counted ? nlohmann::json(*counted) : nlohmann::json(), epochs_key);
}

}  // namespace

std::int64_t steps_rounded_up(double steps) {
  constexpr double rounding = 1e-12;  // of products of decimal numbers: 0.07 x 100
  return static_cast<std::int64_t>(std::ceil(steps * (1.0 - rounding)));
}

void resolve_steps(Settings& s, std::optional<std::int64_t> counted, ErrorList& errors) {
  resolve_epochs(s, counted, errors);
  if (!s.has(steps_key) || !s.sound({steps_key, epochs_key})) return;
  const auto steps = static_cast<double>(s.integer(steps_key));
  for (const std::string& path : s.paths()) {
    const Key* const key = s.table().find(path, s.type_of(path));
    if (key == nullptr || !s.sound({path}) || !key->is_fraction(s.at(path).value)) continue;
    const double fraction = s.number(path);
    s.resolve(path, steps_rounded_up(fraction * steps),
              fmt::format("{} ({} of run.steps)", s.at(path).source, fraction));
  }
}

void check_early_stopping(Settings& s, ErrorList& errors) {
  const std::string patience = "run.early_stopping.patience", best = "checkpoint.keep_best",
                    interval = "run.eval_interval", saves = "checkpoint.interval";
  if (!s.sound({patience, best, interval, saves, "checkpoint.at_end"})) return;
  if (s.boolean(best) && s.number(saves) == 0.0 && !s.boolean("checkpoint.at_end"))
    s.error(
        errors, best,
        "checkpoint.interval is 0 and checkpoint.at_end is false: this job writes no files. Set "
        "one of them");
  if (s.number(interval) > 0.0) return;
  const std::string missing =
      "there is no validation: run.eval_interval is 0. Set it, and data.valid";
  if (s.integer(patience) > 0) s.error(errors, patience, missing);
  if (s.boolean(best)) s.error(errors, best, missing);
}

}  // namespace triax
