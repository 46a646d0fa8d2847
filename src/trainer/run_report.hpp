#pragma once
// What a run says of itself: at its start, and at its end of its memory.
#include <cstdint>
#include <string>
#include <vector>

#include "io/tokens/token_reader.hpp"
#include "src/config/load/load.hpp"
#include "src/forecast/job_plan.hpp"
#include "src/state/optimizer/optimizer.hpp"
#include "src/state/weights/huggingface_weights.hpp"

namespace triax {

/// Where a run begins: at the beginning, or behind what a checkpoint holds.
struct RunStart {
  std::int64_t step = 0, sample = 0, token = 0;
  std::string resumed_from;          // the checkpoint; empty: none
  bool fresh_optimizer = false;      // it has weights alone
  std::vector<std::string> changes;  // of the job since the checkpoint
  WeightNames weights;               // in the files of model.weights
};

/// The parts of a run that announce() speaks of.
struct RunFacts {
  const LoadedJob& job;
  const ProcessGrid& grid;
  const JobPlan& plan;
  const RunStart& start;
  const TokenReader& data;
  std::int64_t validation_samples;  // that a validation reads
  const Optimizer& optimizer;
  const ParameterStore& store;
};

/// "ZeRO stage 2: state is cut over 4 data rank(s), 2 time(s); offload_optimizer nvme,
/// offload_param none": the stage in effect, the data ranks of a shard group and the groups.
std::string sharding_text(const PlacedConfig& config);

/// "bf16: parameters and activations; gradients are kept, and summed between ranks, in fp32,
/// optimizer state is fp32".
std::string precision_text(const PrecisionConfig& precision);

/// "validation: 640 samples = 10 global batches, each 50 steps and at the end", and what limits it;
/// empty where there is none.
std::string validation_text(const Config& config, std::int64_t samples);

/// A line for each setting that does something else than its user may think.
std::vector<std::string> surprises(const PlacedConfig& config);

/// Text trained on by a model of more tokens than bytes are; empty: that is not so.
std::string warning_of_bytes(const Config& config, const TokenReader& data);

/// A program built for GPUs (`for_gpus`) that finds none and was not told so; empty: that is not
/// so.
std::string warning_of_cpu(const PlacedConfig& config, bool for_gpus);

/// The lines at the start of a run, as rank 0 sees it.
void announce(const RunFacts& run);

/// The lines of a run whose steps are all done when it begins. `resume`: checkpoint.resume as the
/// job says it, which a batch job that is run again does not follow.
void report_nothing_to_do(const Config& config, const RunStart& start, const std::string& resume);

/// What a process used whose most in memory was `peak` bytes: what it allocated, and what is left,
/// which is MPI's (and of the libraries what the run touched of them). Communication is 0 where it
/// did not touch all that it allocated.
KindBytes used_by_kind(KindBytes allocated, std::int64_t peak);
/// That as text: memory_text, and where `peak` is less how much never was in memory.
std::string used_text(const KindBytes& used, std::int64_t peak);

/// "messages of the data axis: 3.2 s under way, 0.09 s of them spent on them (97% hidden), 1.2% of
/// 7.4 s"; empty where there were none.
std::string hidden_text(Axis axis, const MessageTimes& times, double seconds);

/// How much of the time of messages was hidden behind other work in the `seconds` of a run, by
/// axis, the mean over ranks. Collective; rank 0 says it.
void report_messages(ProcessGrid& grid, double seconds);

/// What the fullest rank used, by the names of the plan. `allocated`: by this rank. Collective;
/// rank 0 says it.
void report_memory(ProcessGrid& grid, const JobPlan& plan, const Allocations& allocated);

}  // namespace triax
