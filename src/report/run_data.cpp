// SPDX-License-Identifier: Apache-2.0
#include "src/report/run_data.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "io/metrics/run_events.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::size_t index_of(const char* key) {
  for (std::size_t i = 0; i < quantity_count; ++i)
    if (std::strcmp(quantities[i].key, key) == 0) return i;
  return 0;
}

// Calls `use` with each line that is a JSON object. Returns the numbers of the others, from 1.
template <class Use>
std::vector<std::int64_t> each_line(const std::string& path, const Use& use) {
  std::vector<std::int64_t> bad;
  std::ifstream in(path);
  std::int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    const json object = json::parse(line, nullptr, false);
    if (object.is_object())
      use(object);
    else
      bad.push_back(number);
  }
  return bad;
}

void note_bad(RunData& run, const std::string& file, const std::vector<std::int64_t>& bad) {
  if (bad.empty()) return;
  run.notes.push_back(fmt::format(
      "{}: {} line(s) are no JSON and are left out, the first is line {}. A last line that is cut "
      "belongs to a step whose line was not whole when the run ended, or is being written",
      file, bad.size(), bad.front()));
}

void add_metrics(RunData& run, const json& line) {
  const auto at = line.find("step");
  if (at == line.end() || !at->is_number()) return;
  const auto step = at->get<double>();
  if (line.contains("event")) {
    run.events.push_back({"", static_cast<std::int64_t>(step), "rollback",
                          fmt::format("back to step {:.0f} after a loss spike at step {}", step,
                                      line.value("spike_step", std::int64_t{0}))});
    return;
  }
  for (std::size_t i = 0; i < quantity_count; ++i)
    if (const auto found = line.find(quantities[i].key); found != line.end() && found->is_number())
      run.curves[i].add(step, found->get<double>());
  if (const auto tokens = line.find("tokens"); tokens != line.end() && tokens->is_number())
    run.tokens = std::max(run.tokens, tokens->get<double>());
  run.steps_done = std::max(run.steps_done, static_cast<std::int64_t>(step) + 1);
  const auto flag = [&](const char* key) {
    const auto found = line.find(key);
    return found != line.end() && found->is_boolean() && found->get<bool>();
  };
  constexpr std::int64_t most_named = 100;
  if (flag("skipped") && ++run.skipped <= most_named)
    run.events.push_back({"", static_cast<std::int64_t>(step), "skipped",
                          "loss or gradient norm was not finite: the step changed nothing"});
  if (flag("loss_spike") && ++run.spikes <= most_named)
    run.events.push_back({"", static_cast<std::int64_t>(step), "loss spike",
                          "the loss was far above the losses before it"});
}

std::string start_text(const json& line) {
  const std::string from = line.value("resumed_from", "");
  return fmt::format("{} ranks ({}) on {}{}", line.value("ranks", 0), line.value("grid", ""),
                     line.value("devices", ""),
                     from.empty() ? ", from the beginning" : ", resumed from " + from);
}

// Texts of events.jsonl, each with the values that its kind has.
void add_event(RunData& run, const json& line) {
  const std::string kind = line.value("event", "");
  RunEvent event{line.value("time", ""), line.value("step", std::int64_t{0}), kind, ""};
  if (kind == "start") {
    const bool unended = !run.start.is_null() && !run.ended;
    event.text = start_text(line);
    if (unended) event.text += "; the run before it ended without notice";
    run.start = line;
    run.steps = line.value("steps", std::int64_t{0});
  } else if (kind == "memory") {
    if (line.at("planned").is_object() && line.at("used").is_object() &&
        line.at("rank").is_number())
      run.memory = line;
    return;
  } else if (kind == "checkpoint") {
    run.checkpoints.push_back({event.step, line.value("seconds", 0.0), line.value("bytes", 0.0)});
    return;
  } else if (kind == "stop") {
    event.text = fmt::format("stopped by {}", line.value("by", ""));
    if (const std::string why = line.value("unsaved", ""); !why.empty())
      event.text += ", without a checkpoint: " + why;
  } else if (kind == "straggler") {
    event.text = line.value("text", "");
  } else if (kind == "done") {
    event.text = "all steps are done";
  }
  if (kind == "start") run.ended = false;
  if (kind == "stop" || kind == "done") run.ended = true;
  run.events.push_back(event);
}

void read_job(RunData& run) {
  std::ifstream in(run.directory + "/job.json");
  if (!in) {
    run.notes.emplace_back("job.json is missing: the job is not shown");
    return;
  }
  run.job = ordered_json::parse(in, nullptr, false);
  if (run.job.is_object()) {
    const ordered_json steps =
        run.job.value(ordered_json::json_pointer("/run/steps"), ordered_json());
    if (run.steps == 0 && steps.is_number_integer()) run.steps = steps.get<std::int64_t>();
    return;
  }
  run.job = nullptr;
  run.notes.emplace_back("job.json is no JSON object: it is half written or damaged");
}

void require_run(const std::string& directory) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(directory, unknown))
    throw UsageError(fmt::format("there is no directory {}", directory), {},
                     "Name the run.directory of a job");
  for (const char* file : {"metrics.jsonl", "job.json"})
    if (std::filesystem::exists(directory + "/" + file, unknown)) return;
  throw UsageError(fmt::format("{} holds no run", directory),
                   "it has neither metrics.jsonl nor job.json", "Name the run.directory of a job");
}

}  // namespace

const Series& RunData::curve(const char* key) const {
  return curves[index_of(key)];
}

RunData read_run(const std::string& directory) {
  require_run(directory);
  RunData run;
  run.directory = directory;
  const std::filesystem::path path = std::filesystem::absolute(directory).lexically_normal();
  run.name = path.has_filename() ? path.filename() : path.parent_path().filename();
  run.curves.resize(quantity_count);
  const std::string events = directory + "/" + events_file, metrics = directory + "/metrics.jsonl";
  try {
    note_bad(run, events_file, each_line(events, [&](const json& line) { add_event(run, line); }));
  } catch (const json::exception& error) {
    run.notes.push_back(fmt::format("{} is not as triax writes it: {}", events_file, error.what()));
  }
  note_bad(run, "metrics.jsonl",
           each_line(metrics, [&](const json& line) { add_metrics(run, line); }));
  read_job(run);
  std::ranges::stable_sort(run.events, {}, &RunEvent::step);
  struct stat facts {};
  if (::stat(metrics.c_str(), &facts) == 0) run.updated = static_cast<double>(facts.st_mtime);
  if (run.curve("loss").empty())
    run.notes.emplace_back("metrics.jsonl has no step yet, so there are no curves");
  return run;
}

}  // namespace triax
