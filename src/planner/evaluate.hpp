// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory and price of a layout: the job is loaded with its keys, as a run would load it, and its
// plan is made, counted and simulated.
#include <optional>
#include <string>
#include <vector>

#include "src/planner/candidate.hpp"
#include "src/price/step_price.hpp"

namespace triax {

/// Job that is planned.
struct JobToPlan {
  std::string path;                    // of the job file
  std::vector<std::string> overrides;  // of the command line, under those of a layout
  Config base;                         // loaded for one rank; base.batch.global is the job's
};

/// Loads the job for `ranks` ranks on the machine. Its global batch is train_batch_size, or that of
/// the layout in the file. UsageError with the errors of the file.
JobToPlan job_to_plan(const std::string& path, const std::vector<std::string>& overrides, int ranks,
                      const Machine& machine);

struct Evaluation {
  enum class Outcome : std::uint8_t {
    priced,
    too_large,  // does not fit the memory
    refused,    // the job refuses the layout
  };
  Outcome outcome = Outcome::refused;
  Candidate candidate;
  std::string reason = {};  // one line, unless priced
  RankMemory memory = {};   // of the fullest rank; its stage
  int stage = 0;
  StepPrice price = {};
};

class LayoutEvaluator {
 public:
  /// Requires a KernelRuntime, as plan_job. The references must outlive the object.
  LayoutEvaluator(const JobToPlan& job, const Machine& machine);

  Evaluation evaluate(const Candidate& candidate) const;

 private:
  struct Limits {
    bool device = true, node = true;  // whether the rank, and the node, fit
  };
  Limits limits_of(const RankMemory& memory) const;
  bool measure(const PlacedConfig& config, const StepPlans& plans, Evaluation& result) const;

  const JobToPlan& job_;
  const Machine& machine_;
  std::int64_t program_;  // bytes of a process before it allocates
};

}  // namespace triax
