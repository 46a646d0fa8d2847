// SPDX-License-Identifier: Apache-2.0
#include "src/planner/evaluate.hpp"

#include <algorithm>

#include "src/config/load/load.hpp"
#include "src/forecast/job_plan.hpp"
#include "src/planner/parameter_bytes.hpp"

namespace triax {
namespace {

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

JobToPlan job_to_plan(const std::string& path, const std::vector<std::string>& overrides, int ranks,
                      const Machine& machine) {
  JobToPlan job{path, overrides, {}};
  const std::vector<std::string> alone = {"parallel.tensor=1",
                                          "parallel.pipeline=1",
                                          "parallel.data=1",
                                          "parallel.schedule=1f1b",
                                          "parallel.chunks=1",
                                          "parallel.stage_layers=null",
                                          "train_micro_batch_size_per_gpu=auto",
                                          "gradient_accumulation_steps=auto",
                                          "zero_optimization.stage=0"};
  std::string error;
  try {
    const std::int64_t global = load_job_to_plan(path, overrides, ranks).config.batch.global;
    job.overrides.push_back(fmt::format("train_batch_size={}", global));
  } catch (const UsageError& refusal) {  // perhaps only of the layout in the file
    error = refusal.what();
  }
  job.base = load_job_to_plan(path, joined(job.overrides, alone), 1).config;
  // A file without train_batch_size has no other batch than that of its layout.
  if (!error.empty() && job.base.batch.global == 1) throw UsageError(error);
  job.base.run.space = machine.space;
  on_nodes(job.base, machine.ranks_per_node);  // throws for what no layout on this machine can do
  return job;
}

LayoutEvaluator::LayoutEvaluator(const JobToPlan& job, const Machine& machine)
    : job_(job),
      machine_(machine),
      program_(program_bytes(PlacedConfig{job.base, {machine.space}})) {}

LayoutEvaluator::Limits LayoutEvaluator::limits_of(const RankMemory& memory) const {
  Limits limits;
  limits.device = static_cast<double>(memory.scarce().total()) <= machine_.memory;
  if (memory.space == MemorySpace::device && machine_.host_memory > 0.0)
    limits.node = static_cast<double>(memory.in_memory().total()) * machine_.ranks_per_node <=
                  machine_.host_memory;
  return limits;
}

// Finds the fullest stage. False, with the reason, if a rank of it does not fit.
bool LayoutEvaluator::measure(const PlacedConfig& config, const StepPlans& plans,
                              Evaluation& result) const {
  for (int stage = 0; stage < config.parallel.pipeline; ++stage) {
    const RankMemory memory = rank_memory(config, plans, stage, 0, program_);
    if (stage == 0 || memory.scarce().total() > result.memory.scarce().total()) {
      result.memory = memory;
      result.stage = stage;
    }
    const Limits limits = limits_of(memory);
    if (limits.device && limits.node) continue;
    result.outcome = Evaluation::Outcome::too_large;
    result.reason =
        limits.device
            ? fmt::format(
                  "a node needs {:.1f} GB of host memory, and has {:.1f}",
                  static_cast<double>(memory.in_memory().total()) / gb * machine_.ranks_per_node,
                  machine_.host_memory / gb)
            : fmt::format("a rank of stage {} needs {:.1f} GB, and has {:.1f}", stage,
                          static_cast<double>(memory.scarce().total()) / gb, machine_.memory / gb);
    return false;
  }
  return true;
}

Evaluation LayoutEvaluator::evaluate(const Candidate& candidate) const {
  Evaluation result{.candidate = candidate};
  try {
    Config config =
        load_job_to_plan(job_.path,
                         joined(job_.overrides, overrides_of(candidate, job_.base.batch.global)),
                         candidate.ranks())
            .config;
    config.run.space = machine_.space;
    PlacedConfig placed = on_nodes(config, machine_.ranks_per_node);
    const StepPlans plans = step_plans(placed);
    if (!measure(placed, plans, result)) {
      // A run writes its checkpoints without a copy of the state then.
      if (!takes_copy(placed) || config.checkpoint.async != AsyncWrites::where_it_fits)
        return result;
      placed.place.copy_fits = false;
      if (!measure(placed, plans, result)) return result;
    }
    result.price = step_price(placed, plans, machine_);
    result.outcome = Evaluation::Outcome::priced;
  } catch (const UsageError& error) {
    result.outcome = Evaluation::Outcome::refused;
    result.reason = first_line(error.what());
  }
  return result;
}

}  // namespace triax
