#pragma once
// What a run says of itself: at its start, and at its end of its memory.
#include <cstdint>
#include <string>
#include <vector>

#include "io/token_reader.hpp"
#include "src/config/load.hpp"
#include "src/state/optimizer.hpp"
#include "src/train/job_plan.hpp"

namespace triax {

/// Where a run begins: at the beginning, or behind what a checkpoint holds.
struct RunStart {
  std::int64_t step = 0, sample = 0, token = 0;
  std::string resumed_from;                 // the checkpoint; empty: none
  bool fresh_optimizer = false;             // it has weights alone
  std::vector<std::string> changes;         // of the job since the checkpoint
  std::vector<std::string> unused_weights;  // tensors of model.weights that the model has not
};

/// The parts of a run that announce() speaks of.
struct RunFacts {
  const LoadedJob& job;
  const ProcessGrid& grid;
  const JobPlan& plan;
  const RunStart& start;
  const TokenReader& data;
  const Optimizer& optimizer;
  const ParameterStore& store;
};

/// The lines at the start of a run, as rank 0 sees it.
void announce(const RunFacts& run);

/// What the fullest rank used, by the names of the plan: what it allocated, and what is left of the
/// process's peak, which is MPI's (and of the libraries what the run touched of them). `allocated`:
/// by this rank. Collective; rank 0 says it.
void report_memory(ProcessGrid& grid, const JobPlan& plan, const Allocations& allocated);

}  // namespace triax
