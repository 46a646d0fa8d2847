// SPDX-License-Identifier: Apache-2.0
#include "src/config/load/load.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/config/load/job.hpp"
#include "src/config/model/model_section.hpp"
#include "src/config/resolve/resolve.hpp"

namespace triax {
namespace {
using nlohmann::ordered_json;

// Keys left out of job.json: it holds inline what they point to, or a run does not read them.
bool left_out(const std::string& path) {
  return path == "model.config" || path == "model.model_type" || path == "model.architectures" ||
         path == "triax";
}

// The run's steps stand in its job.json, whatever they were derived from.
bool replaced(const Settings& settings, const std::string& path) {
  return path == "run.epochs" && settings.has("run.steps");
}

// Derived keys left out of job.json if they follow run.directory, parallel.tensor,
// checkpoint.interval or zero_optimization.stage, so that job.json can serve as the template of
// another run.
bool follows(const std::string& path, const Setting& setting) {
  return (!setting.given || setting.automatic) &&
         (path == "checkpoint.directory" || path == "checkpoint.collective" ||
          path == "checkpoint.async" || path == "data_types.grad_accum_dtype");
}

void put_nested(ordered_json& root, const std::string& path, const nlohmann::json& value) {
  auto* node = &root;
  std::size_t begin = 0;
  for (auto dot = path.find('.'); dot != std::string::npos;
       begin = dot + 1, dot = path.find('.', begin))
    node = &(*node)[path.substr(begin, dot - begin)];
  (*node)[path.substr(begin)] = value;
}

std::string resolved_text(const Settings& settings) {
  auto root = ordered_json::object();
  for (const auto& path : settings.paths()) {
    const auto& setting = settings.at(path);
    if (left_out(path) || replaced(settings, path) || setting.value.is_null()) continue;
    if (follows(path, setting)) continue;
    if (setting.given || setting.treatment == Treatment::obeyed)
      put_nested(root, path, setting.value);
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

JobSource read_source(const std::string& path, const std::vector<std::string>& overrides,
                      int ranks) {
  JobSource source{path, ranks};
  source.tree = read_job(path, overrides, source.errors);
  return source;
}

ResolvedJob resolve_job(const KeyTable& table, const JobSource& source,
                        std::optional<std::int64_t> counted) {
  const std::string& path = source.path;
  const JobTree& tree = source.tree;
  ErrorList errors = source.errors;
  auto settings = read_settings(table, tree, errors);
  ErrorList model_errors;
  auto model = read_model(settings, tree, model_errors);
  if (!model_errors.empty()) settings.mark_wrong("model");
  errors.add(model_errors);
  ErrorList missing, no_checkpoint;
  const auto lora = tree.root.value("lora", nlohmann::json());
  resolve_lora(settings, model, lora.is_object(), path, errors, missing);
  check_quantize(settings, model, errors);
  resolve_steps(settings, counted, errors);
  resolve_training(settings, errors);
  check_time(settings, errors);
  check_loss_spike(settings, errors);
  check_early_stopping(settings, errors);
  check_average(settings, errors);
  check_trace(settings, errors);
  check_preference(settings, errors);
  check_rates(settings, errors);
  resolve_grid(settings, model, source.ranks, errors);
  resolve_batch(settings, errors);
  resolve_memory(settings, model, errors);
  resolve_gradients(settings, errors);
  check_schedule(settings, find_schedule_file(settings, path, errors), errors);
  check_offload(settings, errors, missing);
  resolve_files(settings, model, path, errors, missing);
  check_resume(settings, missing, no_checkpoint);
  if (!errors.empty()) {
    errors.add(missing);
    errors.add(no_checkpoint);
    errors.raise();
  }
  return {std::move(settings), std::move(model), std::move(missing), std::move(no_checkpoint)};
}

namespace {

// `plan`: missing files are no errors.
LoadedJob loaded_job(std::shared_ptr<const JobSource> source, std::optional<std::int64_t> counted,
                     bool plan) {
  const KeyTable table;
  const ResolvedJob job = resolve_job(table, *source, counted);
  if (!plan) job.missing.raise();
  LoadedJob loaded{to_config(job.settings, job.model),
                   resolved_text(job.settings),
                   {},
                   job.settings.warnings(),
                   {}};
  if (plan) loaded.missing = job.all_missing();
  for (const auto& key : job.settings.paths()) {
    const auto& setting = job.settings.at(key);
    if (setting.given && setting.treatment == Treatment::accepted) loaded.accepted.push_back(key);
  }
  loaded.source = std::move(source);
  return loaded;
}

LoadedJob read_and_load(const std::string& path, const std::vector<std::string>& overrides,
                        int ranks, bool plan) {
  return loaded_job(std::make_shared<const JobSource>(read_source(path, overrides, ranks)), {},
                    plan);
}

}  // namespace

LoadedJob load_job(const std::string& path, const std::vector<std::string>& overrides, int ranks) {
  return read_and_load(path, overrides, ranks, false);
}

LoadedJob load_job_to_plan(const std::string& path, const std::vector<std::string>& overrides,
                           int ranks) {
  return read_and_load(path, overrides, ranks, true);
}

LoadedJob with_steps(const LoadedJob& job, std::int64_t steps) {
  LoadedJob again = loaded_job(job.source, steps, true);
  again.missing = job.missing;
  return again;
}

std::int64_t steps_of_epochs(double epochs, std::int64_t samples, std::int64_t global_batch) {
  const double all = epochs * static_cast<double>(samples);
  return std::max<std::int64_t>(1, steps_rounded_up(all / static_cast<double>(global_batch)));
}

}  // namespace triax
