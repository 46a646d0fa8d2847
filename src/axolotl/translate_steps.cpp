// SPDX-License-Identifier: Apache-2.0
// Batch, epochs, learning-rate schedule, validations and checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/axolotl/parts.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

ordered_json whole(double number) {
  if (std::floor(number) == number && std::abs(number) < 9e15)
    return static_cast<std::int64_t>(number);
  return number;
}

void translate_batch(AxolotlJob& job) {
  const double micro = job.number("micro_batch_size").value_or(1.0);
  if (job.has("micro_batch_size"))
    job.set("train_micro_batch_size_per_gpu", whole(micro), "micro_batch_size");
  else
    job.set_default("train_micro_batch_size_per_gpu", 1, "Axolotl's default");
  if (const auto accumulation = job.number("gradient_accumulation_steps"))
    return job.set("gradient_accumulation_steps", whole(*accumulation),
                   "gradient_accumulation_steps");
  if (const auto batch = job.number("batch_size"))
    return job.set("gradient_accumulation_steps", whole(std::floor(*batch / std::max(1.0, micro))),
                   "batch_size");
  job.set_default("gradient_accumulation_steps", 1, "Axolotl's default");
}

void translate_length(AxolotlJob& job) {
  if (const auto steps = job.number("max_steps"); steps && *steps > 0)
    return job.set("run.steps", whole(*steps), "max_steps");
  if (const auto epochs = job.number("num_epochs"))
    return job.set("run.epochs", whole(*epochs), "num_epochs");
  job.set_default("run.epochs", 1, "Axolotl's default");
}

// More steps than a run has: an interval of validations of which there is one, at the end.
constexpr std::int64_t at_the_end = 1'000'000;

// 1 / (n x epochs) of the run, as Axolotl counts. Where that is not less than the run, the last
// checkpoint ("save") needs no interval, and the last validation ("eval") a long one.
ordered_json share_of_run(AxolotlJob& job, const std::string& what, double per_epoch) {
  const double epochs = job.number("num_epochs").value_or(1.0);
  const double share = epochs > 0.0 ? 1.0 / (per_epoch * epochs) : 1.0;
  if (share < 1.0) return share;
  return what == "eval" ? at_the_end : 0;
}

// The interval of validations ("eval") or checkpoints ("save"), by Axolotl's keys of that name.
void translate_interval(AxolotlJob& job, const std::string& what, const std::string& key) {
  const std::string per_epoch = what + "s_per_epoch", steps = what + "_steps";
  if (const auto number = job.number(per_epoch); number && *number > 0)
    return job.set(key, share_of_run(job, what, *number), per_epoch);
  if (const auto number = job.number(steps); number && *number > 0)
    return job.set(key, *number == 1.0 ? ordered_json(1) : whole(*number), steps);
  std::string strategy = what + "_strategy";
  if (what == "eval" && !job.has(strategy)) strategy = "evaluation_strategy";
  const std::string name = job.text(strategy).value_or("");
  if (name == "no") return job.set(key, 0, strategy);
  if (name == "steps") return job.set(key, 500, strategy);  // transformers' default
  if (name == "epoch") return job.set(key, share_of_run(job, what, 1.0), strategy);
  if (name == "best" && what == "save") {
    job.set("checkpoint.keep_best", true, strategy);
    return job.set_default(key, 0, "save_strategy best");
  }
  if (!name.empty()) return job.refuse(strategy, "expected no, steps or epoch, got " + name);
  job.set_default(key, share_of_run(job, what, 1.0), "Axolotl's default: each epoch");
}

void translate_saves(AxolotlJob& job) {
  translate_interval(job, "save", "checkpoint.interval");
  if (const auto limit = job.number("save_total_limit"); limit && *limit > 0)
    job.set("checkpoint.keep", whole(*limit), "save_total_limit");
  else
    job.set_default("checkpoint.keep", 4, "Axolotl's default");
  if (const auto file = job.text("resume_from_checkpoint"))
    job.set("checkpoint.resume", *file, "resume_from_checkpoint");
  else if (const auto resume = job.boolean("auto_resume_from_checkpoints"))
    job.set("checkpoint.resume", *resume ? "auto" : "never", "auto_resume_from_checkpoints");
  if (job.is_on("load_best_model_at_end"))
    job.set("checkpoint.keep_best", true, "load_best_model_at_end");
  const std::string metric = job.text("metric_for_best_model").value_or("eval_loss");
  if (metric != "eval_loss" && metric != "loss")
    job.refuse("metric_for_best_model", "the best checkpoint is that of the lowest eval_loss");
  if (job.is_on("greater_is_better"))
    job.refuse("greater_is_better", "the best checkpoint is that of the lowest eval_loss");
  const auto patience = job.number("early_stopping_patience");
  if (patience && *patience > 0)
    job.set("run.early_stopping.patience", whole(*patience), "early_stopping_patience");
}

// A schedule of Axolotl's and transformers', and its name in triax.
struct Schedule {
  const char* name;
  const char* type;  // empty: none, the rate is constant
};
constexpr std::array<Schedule, 12> schedules = {{
    {"cosine", "cosine_with_min_lr"},
    {"cosine_with_min_lr", "cosine_with_min_lr"},
    {"cosine_warmup_with_min_lr", "cosine_warmup_with_min_lr"},
    {"cosine_with_restarts", "cosine_with_restarts"},
    {"linear", "linear"},
    {"polynomial", "polynomial"},
    {"constant", ""},
    {"constant_with_warmup", "constant_with_warmup"},
    {"inverse_sqrt", "inverse_sqrt"},
    {"warmup_stable_decay", "warmup_stable_decay"},
    {"SchedulerType.COSINE", "cosine_with_min_lr"},
    {"SchedulerType.LINEAR", "linear"},
}};

// Axolotl's default is 3% of the steps, at most 100, and it rounds a ratio down; triax rounds up.
void translate_warmup(AxolotlJob& job) {
  const std::string key = "scheduler.params.num_warmup_steps";
  if (const auto steps = job.number("warmup_steps"))
    return job.set(key, *steps == 1.0 ? ordered_json(2) : whole(*steps), "warmup_steps");
  if (const auto ratio = job.number("warmup_ratio"))
    return job.set(key, whole(*ratio), "warmup_ratio");
  if (const auto steps = job.number("max_steps"); steps && *steps > 0)
    return job.set_default(key, whole(std::min(std::floor(0.03 * *steps), 100.0)),
                           "Axolotl's default: 3% of the steps, at most 100");
  job.set_default(key, 0.03,
                  "Axolotl's default is 3% of the steps, at most 100. For more than 3,333 steps "
                  "set warmup_steps: 100");
}

void translate_schedule(AxolotlJob& job) {
  const std::string name = job.text("lr_scheduler").value_or("cosine");
  const auto* const found = std::ranges::find(
      schedules, name, [](const Schedule& schedule) { return std::string(schedule.name); });
  if (found == schedules.end())
    return job.refuse("lr_scheduler",
                      fmt::format("\"{}\" is not built. Use cosine, linear, constant, "
                                  "constant_with_warmup, polynomial, inverse_sqrt, "
                                  "cosine_with_restarts or warmup_stable_decay",
                                  name));
  const std::string type = found->type;
  if (type.empty()) return;
  if (job.has("lr_scheduler"))
    job.set("scheduler.type", type, "lr_scheduler");
  else
    job.set_default("scheduler.type", type, "Axolotl's default: cosine");
  translate_warmup(job);
  if (const ordered_json* const more = job.find("lr_scheduler_kwargs")) {
    if (!more->is_object())
      return job.refuse("lr_scheduler_kwargs", "expected a map of the schedule's parameters");
    for (const auto& [key, value] : more->items())
      job.set("scheduler.params." + key, value, "lr_scheduler_kwargs." + key);
  }
  if (type == "cosine_with_min_lr" && job.has("cosine_min_lr_ratio"))
    job.set("scheduler.params.min_lr_rate", job.number("cosine_min_lr_ratio").value_or(0.0),
            "cosine_min_lr_ratio");
  else if (name == "cosine" || name == "SchedulerType.COSINE")
    job.set_default("scheduler.params.min_lr", 0, "the cosine of transformers falls to 0");
}

}  // namespace

void translate_steps(AxolotlJob& job) {
  translate_length(job);
  translate_batch(job);
  translate_schedule(job);
  if (job.has("test_datasets") || job.number("val_set_size").value_or(0.0) > 0.0)
    translate_interval(job, "eval", "run.eval_interval");
  translate_saves(job);
  if (const auto steps = job.number("logging_steps"); steps && *steps >= 1)
    job.set("steps_per_print", whole(*steps), "logging_steps");
  if (const auto seed = job.number("seed")) {
    job.set("run.seed", whole(*seed), "seed");
    job.set("data.seed", whole(*seed), "seed");
  } else {
    job.set_default("run.seed", 42, "transformers' default");
    job.set_default("data.seed", 42, "transformers' default");
  }
  if (job.is_on("use_tensorboard")) job.set("run.tensorboard", true, "use_tensorboard");
  if (const auto directory = job.text("output_dir"))
    job.set("run.directory", *directory, "output_dir");
  else
    job.set_default("run.directory", "./model-out", "Axolotl's default");
}

}  // namespace triax
