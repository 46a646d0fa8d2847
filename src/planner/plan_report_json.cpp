// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/planner/plan_report.hpp"
#include "src/planner/verdict.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const KindBytes& bytes) {
  ordered_json object;
  for (const MemoryKind& kind : memory_kinds) object[std::string(kind.name)] = bytes.*kind.bytes;
  return object;
}

void set_key(ordered_json& root, const std::string& path, const ordered_json& value) {
  ordered_json* at = &root;
  std::size_t begin = 0;
  for (std::size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1)
    at = &(*at)[path.substr(begin, dot - begin)];
  (*at)[path.substr(begin)] = value;
}

// The keys of a layout, nested as in a job file.
ordered_json keys_json(const Candidate& candidate, std::int64_t global) {
  ordered_json keys;
  for (const KeyValue& key : keys_of(candidate, global))
    set_key(keys, key.key, ordered_json::parse(key.value));
  return keys;
}

ordered_json plan_json(const Evaluation& one, const Evaluation& best, std::int64_t global) {
  const Candidate& c = one.candidate;
  const StepPrice& price = one.price;
  ordered_json bytes;
  for (const Axis axis : all_axes)
    bytes[std::string(name_of(axis))] = price.bytes[static_cast<std::size_t>(axis)];
  ordered_json plan = {
      {"tensor", c.tensor},
      {"pipeline", c.pipeline},
      {"data", c.data},
      {"schedule", c.schedule()},
      {"chunks", c.chunks},
      {"micro", c.micro},
      {"accumulation", c.accumulation},
      {"zero", c.zero},
      {"recompute", name_of(c.recompute)},
      {"offload", name_of(c.offload)},
      {"step_seconds", price.seconds},
      {"tokens_per_second", price.tokens_per_second()},
      {"mfu", price.utilisation.seen},
      {"mfu_square", price.utilisation.square},
      {"flops_square", price.utilisation.square_flops},
      {"waits", {{"pipeline", price.bubble}, {"data", price.data}, {"store", price.store}}},
      {"fullest_stage", one.stage},
      {"device", json_of(one.memory.device)},
      {"host", json_of(one.memory.host)},
      {"bytes_sent", bytes},
      {"keys", keys_json(c, global)}};
  if (&one != &best) plan["verdict"] = verdict(one, best);
  return plan;
}

}  // namespace

std::string report_json(const PlanReport& report, double tokens) {
  const Search& search = report.search;
  ordered_json root = {{"machine", report.machine.name},
                       {"ranks", report.ranks},
                       {"ranks_per_node", report.machine.ranks_per_node},
                       {"device_memory", report.machine.memory},
                       {"layouts",
                        {{"all", search.layouts},
                         {"too_large", search.too_large},
                         {"slower", search.slower},
                         {"refused", search.refused},
                         {"simulated", search.priced},
                         {"complete", !search.cut}}},
                       {"plans", ordered_json::array()}};
  for (const Evaluation& one : search.best)
    root["plans"].push_back(plan_json(one, search.best.front(), report.job.base.batch.global));
  if (tokens > 0.0 && !search.best.empty()) {
    const RunCost cost = run_cost(report, tokens);
    root["run"] = {{"tokens", tokens},
                   {"steps", cost.steps},
                   {"days", cost.days},
                   {"device_hours", cost.device_hours},
                   {"megawatt_hours", cost.megawatt_hours}};
  }
  return root.dump(2) + "\n";
}

std::string job_with(const Candidate& candidate, const JobToPlan& job, const std::string& target) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::absolute(target).parent_path();
  ordered_json root = {
      {"extends", fs::absolute(job.path).lexically_relative(folder).generic_string()}};
  for (const std::string& text : job.overrides) {
    const std::size_t equals = text.find('=');
    const ordered_json value = ordered_json::parse(text.substr(equals + 1), nullptr, false);
    set_key(root, text.substr(0, equals),
            value.is_discarded() ? ordered_json(text.substr(equals + 1)) : value);
  }
  for (const KeyValue& key : keys_of(candidate, job.base.batch.global))
    set_key(root, key.key, ordered_json::parse(key.value));
  return root.dump(2) + "\n";
}

}  // namespace triax
