// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_report.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "src/config/preference.hpp"
#include "src/data/mixture/source_plan.hpp"
#include "src/forecast/dry_run.hpp"
#include "src/forecast/process_memory.hpp"
#include "src/launch/offload_location.hpp"
#include "src/launch/requeue.hpp"
#include "src/recipe/lr_report.hpp"
#include "src/version/build_facts.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

const char* name_of(OffloadDevice device) {
  if (device == OffloadDevice::none) return "none";
  return device == OffloadDevice::cpu ? "cpu" : "nvme";
}

// Name of the type in the keys of a job.
const char* key_name_of(DType type) {
  return type == DType::f32 ? "fp32" : type == DType::f16 ? "fp16" : "bf16";
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

std::vector<std::string> config_warnings(const PlacedConfig& config) {
  std::vector<std::string> lines;
  const int group = shard_size(config);
  if (config.zero.shard_by_hpz && group < config.parallel.data)
    lines.push_back(
        fmt::format("zero_optimization.zero_hpz_partition_size: everything that ZeRO-{} shards is "
                    "sharded over {} data ranks, in {} copies, as by mics_shard_size; ZeRO++ would "
                    "do so for the parameters only and shard the rest over all {}",
                    config.zero.stage, group, config.parallel.data / group, config.parallel.data));
  if (config.checkpoint.async == AsyncWrites::where_it_fits && !takes_copy(config))
    lines.emplace_back(
        "checkpoint.async: training waits while checkpoints are written, because a copy of the "
        "state does not fit into memory");
  const CheckpointConfig& files = config.checkpoint;
  if ((files.striping_factor > 0 || files.striping_unit > 0) && !takes_stripes(files.directory))
    lines.push_back(fmt::format(
        "checkpoint.striping_factor and striping_unit are not applied: MPI-IO reads the text "
        "before the colon in {} as the name of a file system. Set checkpoint.directory to a path "
        "without a colon, or set the stripes of that directory (lfs setstripe)",
        files.directory));
  if (config.batch.accumulation > 1 && config.precision.gradient_type != DType::f32)
    lines.push_back(
        fmt::format("gradients of {} micro-batches are summed in {}, which loses small values. Set "
                    "data_types.grad_accum_dtype to fp32 to sum them in float32, with 2 more bytes "
                    "per parameter",
                    config.batch.accumulation, key_name_of(config.precision.gradient_type)));
  const auto add_without_inputs = [&](bool asked, const char* key, const char* what) {
    if (asked && config.recompute.what != Recompute::layer)
      lines.push_back(fmt::format(
          "activation_checkpointing.{} has nothing to {}: no layer is recomputed from its input. "
          "Set activation_checkpointing.number_checkpoints to recompute layers",
          key, what));
  };
  add_without_inputs(config.recompute.partition_inputs, "partition_activations", "cut");
  add_without_inputs(config.recompute.inputs_on_host, "cpu_checkpointing", "move");
  if (config.zero.stage > 0 && group == 1 && config.parallel.data > 1)
    lines.push_back(
        fmt::format("ZeRO-{} shards nothing: the groups have one data rank (one per node, or "
                    "mics_shard_size 1), so each of the {} keeps all state. Place several data "
                    "ranks on a node, or leave out HYBRID_SHARD or mics_shard_size",
                    config.zero.stage, config.parallel.data));
  if (!config.data.valid.empty() && config.run.eval_interval == 0)
    lines.emplace_back(
        "data.valid is never read: run.eval_interval is 0. Set run.eval_interval to the steps from "
        "one validation to the next");
  if (config.run.time_limit > 0.0 && config.run.stop_before_end == 0.0)
    lines.emplace_back(
        "run.time_limit has no effect: run.stop_before_end is 0. Set run.stop_before_end to the "
        "time of one step and two checkpoints");
  if (config.run.loss_spike.action == SpikeAction::stop && config.checkpoint.interval == 0)
    lines.emplace_back(
        "run.loss_spike.action \"stop\" ends the run without a checkpoint: checkpoint.interval is "
        "0. Set checkpoint.interval to the number of steps that may be lost");
  for (std::string& line : rate_warnings(config)) lines.push_back(std::move(line));
  return lines;
}

std::string warning_of_bytes(const Config& config, const SampleReader& data) {
  constexpr int bytes = 256;
  if (config.model.vocabulary <= bytes || !data.has_bytes()) return {};
  return fmt::format(
      "training data are text, read as bytes, but the model has {} tokens: tokens from {} on never "
      "occur. Set model.vocab_size to {} for bytes, or use token files of another tokenizer "
      "(llm.c, Megatron, HDF5)",
      config.model.vocabulary, bytes, bytes);
}

std::string warning_of_cpu(const PlacedConfig& config, bool for_gpus) {
  if (!for_gpus || config.run.space || config.place.space == MemorySpace::device) return {};
  return "no rank finds a GPU, although this program was built for them: the run is on the CPU. "
         "Request GPUs from the scheduler (--gpus-per-node), or set run.device to cpu";
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

KindBytes used_by_kind(KindBytes allocated, std::int64_t peak) {
  allocated.communication = 0;
  allocated.communication = std::max<std::int64_t>(0, peak - allocated.total());
  return allocated;
}

std::string used_text(const KindBytes& used, std::int64_t peak) {
  const std::int64_t untouched = used.total() - peak;
  if (untouched <= 0) return memory_text(used);
  constexpr double mib = 1 << 20;
  return fmt::format("{}; {:.1f} MiB of it never were resident", memory_text(used),
                     static_cast<double>(untouched) / mib);
}

std::string hidden_text(Axis axis, const MessageTimes& times, double seconds) {
  if (times.under_way <= 0.0) return {};
  return fmt::format(
      "messages of the {} axis: {:.3g} s under way, {:.3g} s of it spent on them: {:.0f}% hidden, "
      "{:.1f}% of the time lost",
      name_of(axis), times.under_way, times.spent,
      100.0 * std::max(0.0, 1.0 - times.spent / times.under_way),
      std::min(100.0, 100.0 * times.spent / seconds));
}

// Times of host messages: NCCL messages are not clocked.
void report_messages(ProcessGrid& grid, double seconds) {
  if (grid.space() == MemorySpace::device && !grid.stages_messages()) return;
  std::array<double, 2 * all_axes.size()> sums{};
  std::size_t at = 0;
  for (const Axis axis : all_axes) {
    const MessageTimes times = grid.message_times(axis);
    sums[at++] = times.under_way;
    sums[at++] = times.spent;
  }
  const Stream host;
  grid.world()
      .all_reduce(host, Tensor(sums.data(), {static_cast<std::int64_t>(sums.size())}))
      .wait(host);
  if (grid.rank() != 0) return;
  at = 0;
  for (const Axis axis : all_axes) {
    const double ranks = grid.size();
    const MessageTimes mean{sums[at] / ranks, sums[at + 1] / ranks};
    at += 2;
    if (const std::string text = hidden_text(axis, mean, seconds); !text.empty())
      spdlog::info("{}", text);
  }
}

MemoryReport report_memory(ProcessGrid& grid, const JobPlan& plan, const Allocations& allocated) {
  const std::int64_t peak = peak_resident_bytes();
  KindBytes held = by_kind(allocated, plan.program);
  held -= on_gpu_by_kind(allocated);
  const KindBytes used = used_by_kind(held, peak);
  constexpr std::size_t count = memory_kinds.size() + 1;  // the last: the peak
  std::vector<std::int64_t> all(count * static_cast<std::size_t>(grid.size()));
  const Tensor ranks(all.data(), DType::i64, {grid.size(), std::int64_t{count}});
  const Tensor own = ranks.slice(0, grid.rank(), 1);
  for (std::size_t k = 0; k + 1 < count; ++k)
    own.as<std::int64_t>()[k] = used.*memory_kinds[k].bytes;
  own.as<std::int64_t>()[count - 1] = peak;
  const Stream host;
  grid.world().all_gather(host, ranks, own).wait(host);
  if (grid.rank() != 0) return {};
  const auto peak_of = [&](int rank) {
    return all[static_cast<std::size_t>(rank + 1) * count - 1];
  };
  int fullest = 0;
  for (int rank = 1; rank < grid.size(); ++rank)
    if (peak_of(rank) > peak_of(fullest)) fullest = rank;
  KindBytes most;
  for (std::size_t k = 0; k + 1 < count; ++k)
    most.*memory_kinds[k].bytes = all[static_cast<std::size_t>(fullest) * count + k];
  spdlog::info("rank {} was planned to hold {}", fullest,
               memory_text(plan.memory.of(fullest).in_memory()));
  spdlog::info("rank {} has used            {}", fullest, used_text(most, peak_of(fullest)));
  return {fullest, plan.memory.of(fullest).in_memory(), most};
}

}  // namespace triax
