// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_report.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <vector>

#include "src/config/preference.hpp"
#include "src/data/mixture/source_plan.hpp"
#include "src/forecast/dry_run.hpp"
#include "src/launch/offload_location.hpp"
#include "src/launch/requeue.hpp"
#include "src/recipe/lr_report.hpp"
#include "src/trainer/report/run_warnings.hpp"
#include "src/version/build_facts.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

const char* name_of(OffloadDevice device) {
  if (device == OffloadDevice::none) return "none";
  return device == OffloadDevice::cpu ? "cpu" : "nvme";
}

std::string zero_text(const PlacedConfig& config) {
  const DataShard shard = data_shard(config, 0);
  const int ranks = shard.size * shard.groups;
  if (shard.zero_stage > 0 && shard.size == 1)
    return fmt::format(
        "ZeRO-{}: with one data rank nothing is sharded, and offloaded parameters are gathered",
        shard.zero_stage);
  if (shard.zero_stage > 0)
    return fmt::format("ZeRO-{}: state is sharded over {} data rank(s), in {} group(s)",
                       shard.zero_stage, shard.size, shard.groups);
  if (config.zero.stage > 0)
    return fmt::format(
        "ZeRO-0, not ZeRO-{}: {} data rank(s) in groups of one have nothing to shard",
        config.zero.stage, config.parallel.data);
  return fmt::format("ZeRO-0: each of {} data rank(s) keeps all state", ranks);
}

}  // namespace

std::string sharding_text(const PlacedConfig& config) {
  return fmt::format("{}; offload_optimizer {}, offload_param {}", zero_text(config),
                     name_of(config.zero.offload_optimizer.device),
                     name_of(config.zero.offload_param.device));
}

std::string precision_text(const PrecisionConfig& precision) {
  if (precision.type == DType::f32) return "fp32: parameters, gradients and optimizer state";
  return fmt::format(
      "{}: parameters and activations; gradients are kept, and summed between ranks, in {}, "
      "optimizer state is fp32",
      key_name_of(precision.type), key_name_of(precision.gradient_type));
}

std::string trained_text(const Trainability& model, const TrainedParameters& count) {
  if (count.trained == count.all) return {};
  const bool some = !model.train_only.empty();
  return fmt::format("{:.2f}M of {:.2f}M parameters trained; {}: {}",
                     1e-6 * static_cast<double>(count.trained),
                     1e-6 * static_cast<double>(count.all), some ? "only" : "frozen",
                     fmt::join(some ? model.train_only : model.freeze, ", "));
}

std::string loss_text(const Config& config) {
  const PreferenceLoss* const loss = preference_loss(config);
  if (loss == nullptr) return {};
  std::string text =
      fmt::format("loss {}: {}; beta {:g}", loss->name, loss->meaning, config.loss.beta);
  if (loss->margin) text += fmt::format(", gamma {:g}", config.loss.simpo_gamma);
  if (config.loss.label_smoothing > 0.0)
    text += fmt::format(", label smoothing {:g}", config.loss.label_smoothing);
  return text + fmt::format("; a sample is a pair, 2 x {} tokens", config.data.sequence_length);
}

std::string validation_text(const Config& config, std::int64_t samples) {
  if (config.data.valid.empty() || config.run.eval_interval == 0) return {};
  return fmt::format("validation: {} samples = {} global batches, each {} steps and at the end{}",
                     samples, (samples + config.batch.global - 1) / config.batch.global,
                     config.run.eval_interval,
                     config.run.eval_steps == 0 ? "; run.eval_steps limits it" : "");
}

void report_nothing_to_do(const Config& config, const RunStart& start, const std::string& resume) {
  for (const std::string& change : start.changes) spdlog::warn("{}", change);
  const bool overruled = config.checkpoint.resume != resume;
  spdlog::info(
      "nothing to do: {} has {} steps and run.steps is {}. For another run set another "
      "run.directory{}",
      start.resumed_from, start.step, config.run.steps,
      overruled ? "" : ", or checkpoint.resume never");
}

namespace {

void log_unless_empty(const std::string& line) {
  if (!line.empty()) spdlog::info("{}", line);
}

void warn_unless_empty(const std::string& line) {
  if (!line.empty()) spdlog::warn("{}", line);
}

void log_job(const RunFacts& run) {
  const PlacedConfig& config = run.plan.config;
  spdlog::info("triax {}: {} ranks on {} node(s), tensor {} x pipeline {} x data {}", version,
               run.grid.size(), run.grid.nodes(), config.parallel.tensor, config.parallel.pipeline,
               config.parallel.data);
  const TrainedParameters parameters = trained_parameters(config.model);
  spdlog::info(
      "{:.2f}M parameters, batch {} = micro {} x accumulation {} x data {}, {} tokens per step",
      1e-6 * static_cast<double>(parameters.all), config.batch.global, config.batch.micro,
      config.batch.accumulation, config.parallel.data,
      config.batch.global * config.data.sample_length());
  log_unless_empty(loss_text(config));
  log_unless_empty(trained_text(config.model.trainability, parameters));
  spdlog::info("precision {}", precision_text(config.precision));
  spdlog::info("{} tokens of training data, {} samples per epoch", run.data.tokens(),
               run.data.samples());
  for (const std::string& line : source_lines(config, run.data, run.start.step, run.start.sample))
    spdlog::info("{}", line);
  log_unless_empty(validation_text(config, run.validation_samples));
  spdlog::info("{}", rate_text(config, run.start.step));
}

void log_machine(const ProcessGrid& grid) {
  spdlog::info("on {}", grid.devices());
  for (const std::string& line : grid.shared_messages()) spdlog::info("{}", line);
  if (!grid.not_shared().empty())
    spdlog::warn("the ranks of a node cannot share memory ({}): all messages go through MPI",
                 grid.not_shared());
}

void log_plan(const RunFacts& run) {
  const PlacedConfig& config = run.plan.config;
  spdlog::info("schedule {}: {} instructions on stage 0, verified", config.parallel.schedule,
               run.plan.steps.training[0].size());
  spdlog::info("{}", sharding_text(config));
  if (config.precision.fp8)
    spdlog::info("fp8: the linear maps of the blocks multiply in 8 bits (E4M3, gradients E5M2){}",
                 config.place.space == MemorySpace::device
                     ? " where the GPU does"
                     : ": here, in bf16 with the same rounding");
  const RankMemory& memory = run.plan.memory.of(0);
  spdlog::info("rank 0 will hold {}", memory_text(memory.in_memory()));
  if (memory.space == MemorySpace::device)
    spdlog::info("rank 0 will hold on its GPU {}", memory_text(memory.on_gpu()));
  for (const std::string& line : gpu_notes(config, true)) spdlog::info("{}", line);
  spdlog::info("a step sends, all ranks together: {}", messages_text(run.plan.messages));
  log_offload(config, run.optimizer, run.store);
}

void log_warnings(const RunFacts& run) {
  const PlacedConfig& config = run.plan.config;
  for (const std::string& line : run.job.warnings) spdlog::warn("{}", line);
  for (const std::string& line : config_warnings(config)) spdlog::warn("{}", line);
  warn_unless_empty(warning_of_cpu(config, built_for_gpus()));
  warn_unless_empty(warning_of_bytes(config, run.data));
  for (const std::string& line :
       repetition_warnings(config, run.data, run.start.step, run.start.sample))
    spdlog::warn("{}", line);
  warn_unless_empty(warning_of_loss(config, run.start.step, batch_job(surroundings())));
  for (const std::string& line : run.start.weights.warnings(config.model.weights))
    spdlog::warn("{}", line);
}

void log_start(const RunStart& start, std::int64_t steps) {
  if (!start.resumed_from.empty())
    spdlog::info("resumed from {} after {} of {} steps", start.resumed_from, start.step, steps);
  if (start.fresh_optimizer) spdlog::info("it has no optimizer state: the moments start from zero");
  for (const std::string& change : start.changes) spdlog::warn("{}", change);
}

}  // namespace

void log_run_summary(const RunFacts& run) {
  log_job(run);
  log_machine(run.grid);
  log_plan(run);
  if (run.plan.config.dump_state) spdlog::info("{}", run.job.resolved);
  if (!run.job.accepted.empty())
    spdlog::info("accepted without effect here (triax config --reference says why): {}",
                 fmt::join(run.job.accepted, ", "));
  log_warnings(run);
  log_start(run.start, run.plan.config.run.steps);
}

}  // namespace triax
