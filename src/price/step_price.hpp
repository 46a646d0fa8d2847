// SPDX-License-Identifier: Apache-2.0
#pragma once
// Price of a job's step on a machine: the plan that would run, simulated.
#include <array>

#include "src/forecast/memory_plan.hpp"
#include "src/machine/machine.hpp"
#include "src/schedule/simulate/simulate.hpp"

namespace triax {

/// Share of the ranks' peak FLOP/s that the model's own work takes, by two conventions. `seen`:
/// attention counts the keys that a query sees (triax's `mfu` in metrics.jsonl). `square`: it
/// counts all pairs of tokens, causal or not (Megatron-LM, PaLM). Recomputation counts in neither.
struct Utilisation {
  double seen = 0.0, square = 0.0;
  double square_flops = 0.0;  // FLOP/s per rank by the second
};

struct StepPrice {
  double seconds = 0.0;  // of one step
  double tokens = 0.0;   // of its global batch
  Utilisation utilisation;
  double bubble = 0.0;                          // share of the ranks' time that the pipeline waits
  double data = 0.0;                            // share that waits for reductions and gathers
  double store = 0.0;                           // share that waits for offloaded state
  std::array<double, all_axes.size()> bytes{};  // sent by one rank of the stage with most, by axis
  double tokens_per_second() const { return seconds > 0.0 ? tokens / seconds : 0.0; }
};

/// Utilisation of a step of `seconds` on all ranks of the job.
Utilisation utilisation(const Config& config, const Machine& machine, double seconds);

/// Price of the plans. UsageError if the machine does not have the job's type or its disk.
StepPrice step_price(const PlacedConfig& config, const StepPlans& plans, const Machine& machine);

}  // namespace triax
