// SPDX-License-Identifier: Apache-2.0
#pragma once
// From settings to a Config: resolves every "auto" and checks every pair of keys that must agree.
#include <cstdint>
#include <optional>
#include <string>

#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// Resolves the grid, and global batch = micro x accumulation x data. `ranks` 0: the number of
/// ranks that the grid needs.
void resolve_grid(Settings& settings, const ModelConfig& model, int ranks, ErrorList& errors);
void resolve_batch(Settings& settings, ErrorList& errors);
/// Plans of a schedule by hand ("file:ORDER.csv"), whose path is made absolute; empty: there is
/// none by hand. An error where the file does not exist or holds no order.
Plans find_schedule_file(Settings& settings, const std::string& job_file, ErrorList& errors);
/// Plans of the file that the schedule names; empty where it names none. UsageError if it cannot be
/// read, std::invalid_argument if it holds no order.
Plans read_compute_order(const std::string& schedule);
/// Checks the pipeline schedule's requirements on stages, chunks and micro-batches. `order`: of a
/// schedule by hand.
void check_schedule(Settings& settings, const Plans& order, ErrorList& errors);
/// Resolves run.steps and fractions of it. `counted`: the steps of run.epochs; none: not counted
/// yet, run.steps stays unset and fractions stay. Before all that depends on steps.
void resolve_steps(Settings& settings, std::optional<std::int64_t> counted, ErrorList& errors);
/// A whole number of steps, rounded up. Rounding of decimal fractions is no step.
std::int64_t steps_rounded_up(double steps);
/// Refuses early stopping and the best checkpoint of runs that are not validated.
void check_early_stopping(Settings& settings, ErrorList& errors);
/// Resolves optimizer, scheduler and clipping.
void resolve_training(Settings& settings, ErrorList& errors);
/// The part of resolve_training for the optimizer's own parameters, by the table of
/// src/state/optimizer/rules.
void resolve_optimizer(Settings& settings, ErrorList& errors);
/// Checks the entries of optimizer.groups. After resolve_optimizer and resolve_scheduler.
void check_groups(Settings& settings, ErrorList& errors);
/// `scheduler`: of the same job; learning rates of groups are in proportion to its highest.
OptimizerConfig optimizer_config(const Settings& settings, const SchedulerConfig& scheduler);
/// The part of resolve_training for the learning-rate schedule, which may take the optimizer's
/// rate.
void resolve_scheduler(Settings& settings, ErrorList& errors);
/// Refuses run.stop_before_end and run.time_limit that would end a run before its first step.
void check_time(Settings& settings, ErrorList& errors);
/// Refuses a rollback without a checkpoint to go back to.
void check_loss_spike(Settings& settings, ErrorList& errors);
void check_average(Settings& settings, ErrorList& errors);
/// Checks the steps to trace against those of the run.
void check_trace(Settings& settings, ErrorList& errors);
/// Checks that the schedule's rates can train every step. After resolve_training.
void check_rates(Settings& settings, ErrorList& errors);
SchedulerConfig scheduler_config(const Settings& settings);
/// Resolves ZeRO's settings: FSDP's names for them, "auto" sizes, shard groups that must divide the
/// data ranks. After resolve_grid.
void resolve_memory(Settings& settings, const ModelConfig& model, ErrorList& errors);
/// The part of resolve_training for the type of the parameters.
void resolve_precision(Settings& settings, ErrorList& errors);
/// Resolves the type of the gradients. After resolve_memory: it depends on the ZeRO stage.
void resolve_gradients(Settings& settings, ErrorList& errors);
/// Checks that the keys of offloaded state agree. Directories that do not exist go to `missing`.
void check_offload(Settings& settings, ErrorList& errors, ErrorList& missing);
/// Resolves the section lora, if the job has it (`given`), into model.lora. A directory that does
/// not exist goes to `missing`.
void resolve_lora(Settings& settings, ModelConfig& model, bool given, const std::string& job_file,
                  ErrorList& errors, ErrorList& missing);
/// Checks model.quantize. After resolve_lora.
void check_quantize(Settings& settings, const ModelConfig& model, ErrorList& errors);
/// Resolves data files, sample length, checkpoint directory and file. Files that do not exist go to
/// `missing`.
void resolve_files(Settings& settings, const ModelConfig& model, const std::string& job_file,
                   ErrorList& errors, ErrorList& missing);

/// Path of the file or directory that the text `path` of a key names, from the job file's directory
/// on (find_input). Empty where there is none, which goes to `missing` as `absent`.
std::string named_input(Settings& settings, const std::string& key, const std::string& path,
                        const std::string& job_file, const std::string& absent, ErrorList& missing);

/// Whether data.format is that of JSON lines: neither tokens nor text.
bool reads_conversations(const Settings& settings);

/// Checks loss.type and the keys that only some losses have.
void check_preference(Settings& settings, ErrorList& errors);
/// Checks the keys of conversations. The part of resolve_files for them.
void check_conversation(Settings& settings, const std::string& job_file, ErrorList& errors,
                        ErrorList& missing);

/// The Config that resolved settings describe.
Config to_config(const Settings& settings, const ModelConfig& model);

/// Checks the file that checkpoint.resume names. A directory, or a path that cannot be looked at,
/// goes to `missing`; a file that does not exist to `no_checkpoint`.
void check_resume(Settings& settings, ErrorList& missing, ErrorList& no_checkpoint);

}  // namespace triax
