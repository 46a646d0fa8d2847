// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/rank_state.hpp"

#include <utility>

#include "kernels/base/device/stream_workspace.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/data/chat/sample_rows.hpp"
#include "src/data/mixture/source_names.hpp"
#include "src/launch/offload_location.hpp"

namespace triax {
namespace {

// Takes all memory of a run on a device, and gives the stream its workspace.
std::unique_ptr<DeviceArena> take_device(const PlacedConfig& config, const StepPlans& plans,
                                         const ProcessGrid& grid, const Stream& stream) {
  if (stream.space() == MemorySpace::host) return nullptr;
  const Stage stage = make_stage(config, grid.pipeline_rank(), grid.tensor_rank(), StageUse::plan);
  auto arena =
      std::make_unique<DeviceArena>(arena_parts(planned_allocations(config, plans, stage)));
  set_workspace(stream, {MemorySpace::device, arena.get()});
  return arena;
}

StateOptions in_arena(StateOptions options, DeviceArena* arena) {
  options.arena = arena;
  return options;
}

BufferPlan in_arena(BufferPlan plan, DeviceArena* arena) {
  plan.arena = arena;
  return plan;
}

}  // namespace

RankState::RankState(const Config& job, ProcessGrid& ranks, std::optional<JobPlan> made)
    : grid(ranks),
      plan(made ? *std::move(made) : plan_job(on_grid(job, grid))),
      config(plan.config),
      stream(config.place.space),
      arena(take_device(config, plan.steps, grid, stream)),
      stage(
          make_stage(config, grid.pipeline_rank(), grid.tensor_rank(), StageUse::run, arena.get())),
      shape(batch_shape(config, stage.place().tensor)),
      layout(plan.steps.shape, grid.pipeline_rank()),
      train_data(open_training_data(config, grid)),
      store(stage, grid, in_arena(parameters_on(grid, config), arena.get()),
            whole_buffers(plan.steps, stage_index())),
      optimizer(store, config.optimizer, config.gradient_clipping,
                optimizer_on(grid, config, plan.steps)),
      buffer_plan(in_arena(plan_buffers(stage, shape, config.model.hidden,
                                        plan.steps.peaks[stage_index()], plan.steps.shape),
                           arena.get())),
      buffers(buffer_plan, layout, plan.steps.shape.microbatches,
              {shape.local_rows, config.model.hidden}, shape.type),
      messages(grid.pipeline(), layout, plan.steps.shape.microbatches),
      batch(train_data, config.batch, shape, config.parallel.data, grid.data_rank(), arena.get()) {}

Allocations RankState::allocations(std::int64_t snapshot_bytes) const {
  return {store.bytes(),          optimizer.allocated(),
          buffers.memory(),       batch_bytes(config, shape),
          stage.table_bytes(),    number_bytes(config),
          plan_bytes(plan.steps), staging_of(config, store.blocks()),
          snapshot_bytes,         stream.space()};
}

namespace {

// A pair is two rows of seq_length tokens: no file may end within one, unless it is the last.
void check_whole_pairs(const TokenReader& reader, const std::vector<std::string>& files,
                       const DataConfig& data) {
  const std::vector<std::int64_t> tokens = reader.file_tokens();
  for (std::size_t f = 0; f + 1 < files.size(); ++f)
    if (tokens[f] % data.sample_length() != 0)
      throw UsageError(fmt::format("{} cuts the pairs of the files behind it", files[f]),
                       fmt::format("it holds {} tokens, which are no multiple of a pair's, 2 x {}",
                                   tokens[f], data.sequence_length),
                       "Name the file alone in a source of data.train, or as the last file");
}

void check_pairs(const TokenReader& reader, const std::vector<std::string>& files,
                 const DataConfig& data) {
  for (const std::string& file : files)
    check_row_form(file, data.sequence_length, data.rows_per_sample);
  if (data.rows_per_sample == 1) return;
  check_whole_pairs(reader, files, data);
  if (!reader.has_labels())
    throw UsageError(fmt::format("{} has no labels", files.front()),
                     "of a pair, answers alone have labels; the prompt has -100",
                     "Name JSON lines, or files that a run has prepared from them");
}

}  // namespace

TokenReader open_reader(const Config& config, const ProcessGrid& grid,
                        const std::vector<std::string>& files, bool shuffle, bool use) {
  TokenReader reader(files, config.data.sample_length(), shuffle, config.data.seed, grid);
  reader.set_vocabulary(config.model.vocabulary);
  if (config.data.finds_documents())
    reader.find_documents(config.data.end_token, config.data.mask_end_token_loss);
  agreed(grid, [&] {
    if (!use || grid.rank() != 0) return;
    reader.check_ends();
    check_pairs(reader, files, config.data);
  });
  return reader;
}

TrainingData open_training_data(const Config& config, const ProcessGrid& grid) {
  std::vector<TokenReader> readers;
  for (const auto& files : source_files(config.data))
    readers.push_back(open_reader(config, grid, files, config.data.shuffle, true));
  return {config, std::move(readers)};
}

}  // namespace triax
