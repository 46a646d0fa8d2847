// SPDX-License-Identifier: Apache-2.0
#include "src/config/load/load.hpp"

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
    if (left_out(path) || setting.value.is_null()) continue;
    if (follows(path, setting)) continue;
    if (setting.given || setting.treatment == Treatment::obeyed)
      put_nested(root, path, setting.value);
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

ResolvedJob resolve_job(const KeyTable& table, const std::string& path,
                        const std::vector<std::string>& overrides, int ranks) {
  ErrorList errors;
  const auto tree = read_job(path, overrides, errors);
  auto settings = read_settings(table, tree, errors);
  ErrorList model_errors;
  const auto model = read_model(settings, tree, model_errors);
  if (!model_errors.empty()) settings.mark_wrong("model");
  errors.add(model_errors);
  resolve_training(settings, errors);
  check_time(settings, errors);
  check_loss_spike(settings, errors);
  check_rates(settings, errors);
  resolve_grid(settings, model, ranks, errors);
  resolve_batch(settings, errors);
  resolve_memory(settings, model, errors);
  resolve_gradients(settings, errors);
  check_schedule(settings, errors);
  ErrorList missing, no_checkpoint;
  check_offload(settings, errors, missing);
  resolve_files(settings, model, path, errors, missing);
  check_resume(settings, missing, no_checkpoint);
  if (!errors.empty()) {
    errors.add(missing);
    errors.add(no_checkpoint);
    errors.raise();
  }
  return {std::move(settings), model, std::move(missing), std::move(no_checkpoint)};
}

namespace {

LoadedJob loaded_job(const ResolvedJob& job) {
  LoadedJob loaded{to_config(job.settings, job.model),
                   resolved_text(job.settings),
                   {},
                   job.settings.warnings(),
                   job.all_missing()};
  for (const auto& key : job.settings.paths()) {
    const auto& setting = job.settings.at(key);
    if (setting.given && setting.treatment == Treatment::accepted) loaded.accepted.push_back(key);
  }
  return loaded;
}

}  // namespace

LoadedJob load_job(const std::string& path, const std::vector<std::string>& overrides, int ranks) {
  const KeyTable table;
  const auto job = resolve_job(table, path, overrides, ranks);
  job.missing.raise();
  LoadedJob loaded = loaded_job(job);
  loaded.missing.clear();
  return loaded;
}

LoadedJob load_job_to_plan(const std::string& path, const std::vector<std::string>& overrides,
                           int ranks) {
  const KeyTable table;
  return loaded_job(resolve_job(table, path, overrides, ranks));
}

}  // namespace triax
