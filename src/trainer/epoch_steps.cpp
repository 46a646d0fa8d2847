// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/epoch_steps.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/checkpoint/resume_data.hpp"
#include "src/config/conversation.hpp"
#include "src/config/ending.hpp"
#include "src/data/mixture/source_names.hpp"
#include "src/launch/run_directory.hpp"
#include "src/trainer/rank_state.hpp"

namespace triax {
namespace {

// Steps in all of a run that resumes with another batch; none: the batch is the same, or the run
// begins anew. On rank 0.
std::optional<std::int64_t> steps_with_other_batch(const LoadedJob& job, const PlacedConfig& config,
                                                   const TrainingData& data, double epochs) {
  const std::string file = resume_file(config.checkpoint);
  if (file.empty()) return {};
  const CheckpointHeader header = CheckpointReader(file).header();
  const auto batch = saved_integer(header.job, "train_batch_size");
  if (!batch || *batch == config.batch.global) return {};
  const std::int64_t used = resume_data(header, job, data).sample;
  const double left = epochs - static_cast<double>(used) / static_cast<double>(data.samples());
  if (left <= 0.0) return header.step;
  return header.step + steps_of_epochs(left, data.samples(), config.batch.global);
}

std::string steps_text(double epochs, std::int64_t steps, std::int64_t batch,
                       std::int64_t samples) {
  return fmt::format("run.epochs {}: {} steps of {} samples, {} samples per epoch", epochs, steps,
                     batch, samples);
}

std::int64_t count_samples(const Config& config) {
  std::int64_t samples = 0;
  for (const auto& files : source_files(config.data))
    samples +=
        TokenReader(files, config.data.sample_length(), config.data.shuffle, config.data.seed)
            .samples();
  return samples;
}

}  // namespace

std::string count_steps_to_plan(const Ranks& ranks, LoadedJob& job) {
  const Config& config = job.config;
  const double epochs = ending_config(job.resolved).epochs;
  if (epochs == 0.0) return {};
  const bool prepared = conversation_config(job.resolved).format != "tokens";
  if (prepared || !job.missing.empty())
    return fmt::format(
        "run.epochs {}: the steps are not counted, because {}. Memory and messages of a step do "
        "not depend on their number",
        epochs,
        prepared ? "a run prepares the samples of data.train first"
                 : "files of the job are missing");
  std::string counted;
  agreed(ranks, [&] {
    if (ranks.rank == 0) counted = std::to_string(count_samples(config));
  });
  const std::int64_t samples = std::stoll(broadcast_text(ranks, counted));
  const std::int64_t steps = steps_of_epochs(epochs, samples, config.batch.global);
  std::string text = steps_text(epochs, steps, config.batch.global, samples);
  agreed(ranks, [&] { job = with_steps(job, steps); });
  return text;
}

void count_steps_of_epochs(const ProcessGrid& grid, LoadedJob& job, PlacedConfig& config) {
  const double epochs = ending_config(job.resolved).epochs;
  if (epochs == 0.0) return;
  const TrainingData data = open_training_data(config, grid);
  const std::int64_t usual = steps_of_epochs(epochs, data.samples(), config.batch.global);
  std::string resumed;
  agreed(grid, [&] {
    if (grid.rank() != 0) return;
    if (const auto other = steps_with_other_batch(job, config, data, epochs))
      resumed = std::to_string(*other);
  });
  resumed = broadcast_text(grid, resumed);
  const std::int64_t steps = resumed.empty() ? usual : std::stoll(resumed);
  agreed(grid, [&] { job = with_steps(job, std::max<std::int64_t>(1, steps)); });
  if (grid.rank() == 0)
    spdlog::info("{}{}", steps_text(epochs, steps, config.batch.global, data.samples()),
                 resumed.empty() ? "" : ", counting those that were made with another batch");
  Config counted = job.config;
  counted.data = std::move(config.data);  // prepared
  counted.checkpoint.resume = config.checkpoint.resume;
  config = on_grid(counted, grid);
}

}  // namespace triax
