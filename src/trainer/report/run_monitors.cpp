// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_monitors.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// The file as a block of code in Markdown.
std::string as_code(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  for (std::string line; std::getline(in, line);) text += "    " + line + "\n";
  return text;
}

// Numbers of preference data, under the names that metrics.jsonl and TRL have.
void add_pairs(std::vector<EventScalar>& scalars, const std::optional<PairMetrics>& pairs,
               const std::string& prefix) {
  if (!pairs) return;
  const auto add = [&](const char* name, double value) {
    scalars.push_back({prefix + name, value});
  };
  add("rewards/chosen", pairs->chosen_reward);
  add("rewards/rejected", pairs->rejected_reward);
  add("rewards/margins", pairs->margin());
  add("rewards/accuracies", pairs->accuracy);
  add("logps/chosen", pairs->chosen_log_prob);
  add("logps/rejected", pairs->rejected_log_prob);
  if (pairs->chosen_loss) add("nll_loss", *pairs->chosen_loss);
}

// The numbers of a line of metrics.jsonl, under the same names.
std::vector<EventScalar> scalars_of(const StepMetrics& m) {
  std::vector<EventScalar> scalars = {
      {"loss", m.loss},
      {"grad_norm", m.grad_norm},
      {"lr", m.lr},
      {"tokens", static_cast<double>(m.tokens)},
      {"tokens_per_second", m.tokens_per_second},
      {"step_seconds", m.step_seconds},
      {"peak_memory_bytes", static_cast<double>(m.peak_memory_bytes)},
      {"bytes_sent/data", static_cast<double>(m.bytes_sent_data)},
      {"bytes_sent/tensor", static_cast<double>(m.bytes_sent_tensor)},
      {"bytes_sent/pipeline", static_cast<double>(m.bytes_sent_pipeline)},
      {"skipped", m.skipped ? 1.0 : 0.0}};
  if (m.label_tokens) scalars.push_back({"label_tokens", static_cast<double>(*m.label_tokens)});
  if (m.mfu) scalars.push_back({"mfu", *m.mfu});
  if (m.loss_scale) scalars.push_back({"loss_scale", *m.loss_scale});
  for (const auto& [name, epochs] : m.epochs) scalars.push_back({"epochs/" + name, epochs});
  add_pairs(scalars, m.pairs, "");
  return scalars;
}

}  // namespace

RunMonitors::RunMonitors(const RunConfig& run, const OutputConfig& outputs, std::int64_t first_step)
    : steps_(run.steps) {
  if (!outputs.openmetrics.empty()) state_file_.emplace(outputs.openmetrics, run.directory);
  if (!outputs.tensorboard) return;
  try {
    events_ = std::make_unique<EventFile>(run.directory + "/" + tensorboard_folder, first_step);
    events_->text(first_step, "job", as_code(run.directory + "/job.json"));
  } catch (const Error& error) {
    note(error.what());
  }
}

RunMonitors::~RunMonitors() {
  update_state(false);
}

void RunMonitors::note(const std::string& problem) {
  problem_ = problem;
}

void RunMonitors::step(const StepMetrics& metrics) {
  if (events_) {
    events_->scalars(metrics.step, scalars_of(metrics));
    note(events_->problem());
  }
  state_.step = metrics;
  state_.seconds_left = metrics.step_seconds *
                        static_cast<double>(std::max<std::int64_t>(0, steps_ - metrics.number()));
  has_step_ = true;
  update_state(true);
}

void RunMonitors::valid(std::int64_t step, double loss, const std::optional<PairMetrics>& pairs) {
  state_.valid_loss = loss;
  if (!events_) return;
  std::vector<EventScalar> scalars = {{"valid_loss", loss}};
  add_pairs(scalars, pairs, "valid_");
  events_->scalars(step, scalars);
  note(events_->problem());
}

void RunMonitors::update_state(bool running) {
  if (!state_file_ || !has_step_) return;
  state_.steps = steps_;
  state_.running = running;
  if (const std::string problem = state_file_->update(state_); !problem.empty()) note(problem);
}

std::string RunMonitors::take_problem() {
  std::string problem = std::exchange(problem_, {});
  if (problem.empty() || problem == reported_) return {};
  reported_ = problem;
  return problem;
}

}  // namespace triax
