#pragma once
// From settings to a Config: every "auto" worked out, every pair of keys that must agree checked.
#include <string>

#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// The grid, and global batch = micro x accumulation x data. `ranks` 0: as many as the grid asks
/// for.
void resolve_grid(Settings& settings, const ModelConfig& model, int ranks, ErrorList& errors);
void resolve_batch(Settings& settings, ErrorList& errors);
/// What the pipeline schedule asks of stages, chunks and micro-batches.
void check_schedule(Settings& settings, ErrorList& errors);
/// Optimizer, scheduler and clipping.
void resolve_training(Settings& settings, ErrorList& errors);
/// A run that leaves before it has begun, by run.stop_before_end and run.time_limit.
void check_time(Settings& settings, ErrorList& errors);
/// A rollback that has nothing to go back to.
void check_loss_spike(Settings& settings, ErrorList& errors);
/// Schedules that no step can be trained with. After resolve_training.
void check_rates(Settings& settings, ErrorList& errors);
/// ZeRO's settings: FSDP's words for them, sizes that are "auto", shard groups that must divide the
/// data ranks. After resolve_grid.
void resolve_memory(Settings& settings, const ModelConfig& model, ErrorList& errors);
/// The type of the gradients. After resolve_memory: it depends on the ZeRO stage.
void resolve_gradients(Settings& settings, ErrorList& errors);
/// Offloaded state: what its keys ask of each other. Directories that are not there go to
/// `missing`.
void check_offload(Settings& settings, ErrorList& errors, ErrorList& missing);
/// Data files, sample length, checkpoint directory and file. Files that are not there go to
/// `missing`.
void resolve_files(Settings& settings, const ModelConfig& model, const std::string& job_file,
                   ErrorList& errors, ErrorList& missing);

/// The Config that resolved settings describe.
Config to_config(const Settings& settings, const ModelConfig& model);

/// checkpoint.resume names a file: a directory, or what cannot be looked at, is `missing`, no file
/// at all `no_checkpoint`.
void check_resume(Settings& settings, ErrorList& missing, ErrorList& no_checkpoint);

}  // namespace triax
