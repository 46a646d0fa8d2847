// SPDX-License-Identifier: Apache-2.0
#include "src/trace/read_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::json;

UsageError not_a_trace(const std::string& path, const std::string& why) {
  return UsageError(fmt::format("{} is not a trace that triax wrote", path), why,
                    "Run the job again with run.trace_steps, as --set 'run.trace_steps=[10, 12]'");
}

// Events stand on lines of their own, with a comma behind all but the last.
std::optional<json> event_of(std::string& line) {
  if (!line.starts_with(R"({"ph":"X")")) return {};
  if (line.ends_with(',')) line.pop_back();
  json event = json::parse(line, nullptr, false);
  return event.is_object() ? std::optional(std::move(event)) : std::nullopt;
}

void add(RunTrace& trace, const json& event) {
  const auto rank = event.at("pid").get<std::size_t>();
  if (event.at("tid").get<int>() != 0) return;
  if (rank >= trace.ranks.size()) trace.ranks.resize(rank + 1);
  const double begin = event.at("ts").get<double>() * 1e-6;
  const double end = begin + event.at("dur").get<double>() * 1e-6;
  auto name = event.at("name").get<std::string>();
  if (event.contains("args")) {
    const json& arguments = event.at("args");
    trace.ranks[rank].ops.push_back({arguments.at("step").get<std::int64_t>(),
                                     arguments.at("position").get<int>(), begin, end,
                                     std::move(name)});
  } else if (event.at("cat") == "step") {
    trace.ranks[rank].steps.push_back({std::stoll(name.substr(name.find(' ') + 1)), begin, end});
  }
}

void add_facts(RunTrace& trace, const json& facts) {
  trace.ranks_per_node = facts.at("ranks_per_node").get<int>();
  trace.on_gpu = facts.at("device") == "gpu";
  trace.steps = {facts.at("steps").at(0).get<std::int64_t>(),
                 facts.at("steps").at(1).get<std::int64_t>()};
}

}  // namespace

double RunTrace::step_seconds() const {
  std::map<std::int64_t, TracedStep> all;
  for (const RankTrace& rank : ranks)
    for (const TracedStep& step : rank.steps) {
      auto [found, is_new] = all.try_emplace(step.step, step);
      found->second.begin = std::min(found->second.begin, step.begin);
      found->second.end = std::max(found->second.end, step.end);
    }
  double seconds = 0.0;
  for (const auto& entry : all) seconds += entry.second.end - entry.second.begin;
  return all.empty() ? 0.0 : seconds / static_cast<double>(all.size());
}

RunTrace read_trace(const std::string& path) {
  errno = 0;
  std::ifstream in(path);
  if (!in)
    throw UsageError(fmt::format("cannot read {}", path), std::strerror(errno),
                     "Run the job with run.trace_steps, as --set 'run.trace_steps=[10, 12]': the "
                     "trace is written after the last of these steps");
  RunTrace trace;
  bool whole = false;
  try {
    for (std::string line; std::getline(in, line);) {
      if (const auto event = event_of(line)) add(trace, *event);
      constexpr std::string_view facts = "\"otherData\":";
      if (!line.starts_with(facts)) continue;
      line.pop_back();  // the brace that closes the file
      add_facts(trace, json::parse(line.substr(facts.size())));
      whole = true;
    }
  } catch (const std::exception& error) {  // of nlohmann::json and std::stoll
    throw not_a_trace(path, error.what());
  }
  if (!whole || trace.ranks.empty()) throw not_a_trace(path, "its end is missing, or it is empty");
  for (RankTrace& rank : trace.ranks)
    std::ranges::stable_sort(rank.ops, {},
                             [](const TracedOp& op) { return std::pair(op.step, op.position); });
  return trace;
}

}  // namespace triax
