// SPDX-License-Identifier: Apache-2.0
#include "src/trace/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "src/trace/measured_times.hpp"

namespace triax {
namespace {

// "F", "send act start": the text of an instruction without its numbers.
std::string kind_text(const Op& op) {
  std::string words;
  std::istringstream text(text_of(op));
  for (std::string word; text >> word;) {
    if (word.size() > 1 && std::isdigit(static_cast<unsigned char>(word.back())) != 0) continue;
    words += (words.empty() ? "" : " ") + word;
  }
  return words;
}

// Seconds of each instruction of a stage, its waiting included.
std::vector<double> predicted_seconds(const StageTimes& stage, std::size_t instructions) {
  std::vector<double> seconds(instructions);
  for (const auto* intervals : {&stage.intervals, &stage.waits})
    for (const OpInterval& one : *intervals) seconds[one.position] += one.end - one.begin;
  return seconds;
}

void add_kind(std::vector<ComparedTime>& kinds, const ComparedTime& one, const std::string& name) {
  const auto found = std::ranges::find_if(kinds, [&](const ComparedTime& kind) {
    return kind.stage == one.stage && kind.name == name;
  });
  ComparedTime& kind =
      found == kinds.end() ? kinds.emplace_back(ComparedTime{one.stage, name}) : *found;
  ++kind.count;
  kind.measured += one.measured;
  kind.predicted += one.predicted;
}

// Mean seconds from a step's begin to its first instruction.
double batch_seconds(const RunTrace& trace) {
  double sum = 0.0;
  int count = 0;
  for (const RankTrace& rank : trace.ranks)
    for (const TracedStep& step : rank.steps) {
      const auto first = std::ranges::find(rank.ops, step.step, &TracedOp::step);
      if (first == rank.ops.end()) continue;
      sum += first->begin - step.begin;
      ++count;
    }
  return count > 0 ? sum / count : 0.0;
}

std::string percent(double measured, double predicted) {
  if (predicted <= 0.0) return "";
  if (measured > 10.0 * predicted) return ">+900%";
  return fmt::format("{:+.0f}%", 100.0 * (measured / predicted - 1.0));
}

std::string row_text(const ComparedTime& one) {
  return fmt::format("{:>5}  {:<28} {:>6}  {:>10.3f}  {:>10.3f}  {:>+10.3f}  {:>7}\n", one.stage,
                     one.name, one.count, 1e3 * one.measured, 1e3 * one.predicted,
                     1e3 * one.difference(), percent(one.measured, one.predicted));
}

nlohmann::ordered_json rows_json(const std::vector<ComparedTime>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const ComparedTime& one : rows)
    list.push_back({{"stage", one.stage},
                    {"name", one.name},
                    {"count", one.count},
                    {"measured_seconds", one.measured},
                    {"predicted_seconds", one.predicted}});
  return list;
}

}  // namespace

TraceComparison compare(const RunTrace& trace, const TracedJob& job, const Timeline& predicted,
                        std::size_t most) {
  std::vector<int> stages;
  for (int rank = 0; rank < std::ssize(trace.ranks); ++rank) stages.push_back(job.stage_of(rank));
  const auto measured = durations(trace, stages, job.plans.training);
  TraceComparison result;
  result.measured = trace.step_seconds();
  result.predicted = predicted.makespan;
  result.batch = batch_seconds(trace);
  result.ranks = static_cast<int>(trace.ranks.size());
  result.steps = static_cast<int>(trace.ranks.front().steps.size());
  for (std::size_t stage = 0; stage < job.plans.training.size(); ++stage) {
    const Plan& plan = job.plans.training[stage];
    const std::vector<double> seconds = predicted_seconds(predicted.stages[stage], plan.size());
    for (std::size_t at = 0; at < plan.size(); ++at) {
      const ComparedTime one{static_cast<int>(stage), text_of(plan[at]), 1,
                             measured[stage][at].mean(), seconds[at]};
      add_kind(result.kinds, one, kind_text(plan[at]));
      result.largest.push_back(one);
    }
  }
  std::ranges::stable_sort(result.largest, std::ranges::greater{},
                           [](const ComparedTime& one) { return std::abs(one.difference()); });
  result.largest.resize(std::min(result.largest.size(), most));
  return result;
}

std::string comparison_text(const TraceComparison& comparison, const std::string& prediction) {
  std::string text = fmt::format(
      "step: {:.3f} ms measured (mean of {} step(s) on {} rank(s), {:.3f} ms of it for the batch), "
      "{:.3f} ms predicted ({})\nprediction: {}\n\n",
      1e3 * comparison.measured, comparison.steps, comparison.ranks, 1e3 * comparison.batch,
      1e3 * comparison.predicted, percent(comparison.measured, comparison.predicted), prediction);
  const std::string head =
      fmt::format("{:>5}  {:<28} {:>6}  {:>10}  {:>10}  {:>10}\n", "stage", "instructions", "count",
                  "measured", "predicted", "difference");
  text += "Milliseconds of a step, waiting included:\n" + head;
  for (const ComparedTime& kind : comparison.kinds)
    if (kind.measured > 5e-7 || kind.predicted > 5e-7) text += row_text(kind);
  text += "\nLargest differences of single instructions:\n" + head;
  for (const ComparedTime& one : comparison.largest) text += row_text(one);
  return text;
}

std::string comparison_json(const TraceComparison& comparison, const std::string& prediction) {
  const nlohmann::ordered_json out = {{"measured_seconds", comparison.measured},
                                      {"predicted_seconds", comparison.predicted},
                                      {"batch_seconds", comparison.batch},
                                      {"steps", comparison.steps},
                                      {"ranks", comparison.ranks},
                                      {"prediction", prediction},
                                      {"kinds", rows_json(comparison.kinds)},
                                      {"largest", rows_json(comparison.largest)}};
  return out.dump(2) + '\n';
}

}  // namespace triax
