// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/base/check.hpp"
#include "src/config/lora/lora.hpp"
#include "src/config/preference.hpp"
#include "src/config/resolve/resolve.hpp"
#include "src/config/resolve/sources.hpp"
#include "src/config/source/pattern.hpp"

namespace triax {
namespace {

int small(const Settings& s, const std::string& path) {
  return static_cast<int>(s.integer(path));
}

// Enumerator called `name`; `names` are in the order of the enumeration.
template <class Enum, std::size_t n>
Enum enumerator(const char* const (&names)[n], const std::string& name) {
  const auto* const found = std::ranges::find(names, name);
  check(found != std::end(names), "no enumerator is called \"{}\"", name);
  return static_cast<Enum>(found - std::begin(names));
}

std::vector<std::string> strings(const Settings& s, const std::string& path) {
  return s.has(path) ? s.at(path).value.get<std::vector<std::string>>()
                     : std::vector<std::string>{};
}

Trainability trainability(const Settings& s) {
  const auto patterns = [&](const std::string& path) {
    if (!s.has(path) || !s.at(path).value.is_string()) return strings(s, path);
    return std::vector<std::string>{s.string(path)};
  };
  Trainability t{patterns("freeze"), patterns("train_only")};
  const bool any = !t.freeze.empty() || !t.train_only.empty();
  if (any) t.origin = s.origin_of(t.freeze.empty() ? "train_only" : "freeze").text();
  return t;
}

DataConfig data(const Settings& s) {
  DataConfig d;
  if (s.has("data.train")) {
    d.train = names_of_patterns(patterns_of_sources(s.at("data.train").value));
    d.sources = data_sources(s.at("data.train").value);
  }
  d.valid = names_of_patterns(strings(s, "data.valid"));
  d.sequence_length = small(s, "data.seq_length");
  d.shuffle = s.boolean("data.shuffle");
  d.seed = static_cast<std::uint64_t>(s.integer("data.seed"));
  d.tokenizer = s.string("data.tokenizer");
  d.mask_documents = s.string("data.documents") == "mask";
  d.mask_end_token_loss = s.boolean("data.mask_end_token_loss");
  d.packing = reads_conversations(s) && s.boolean("data.packing");
  if (s.has("data.tokenizer_hash")) d.tokenizer_hash = s.string("data.tokenizer_hash");
  return d;
}

ParallelConfig parallel(const Settings& s) {
  ParallelConfig p;
  p.tensor = small(s, "parallel.tensor");
  p.pipeline = small(s, "parallel.pipeline");
  p.data = small(s, "parallel.data");
  p.schedule = s.string("parallel.schedule");
  p.compute_order = read_compute_order(p.schedule);
  p.chunks = small(s, "parallel.chunks");
  p.stages_by_speed =
      s.has("parallel.stage_layers") && s.at("parallel.stage_layers").value.is_string();
  if (s.has("parallel.stage_layers") && !p.stages_by_speed)
    p.stage_layers = s.at("parallel.stage_layers").value.get<std::vector<int>>();
  p.sequence_parallel = s.boolean("parallel.sequence_parallel");
  p.order = s.string("parallel.order");
  p.tensor_across_nodes = s.boolean("parallel.tensor_across_nodes");
  return p;
}

std::optional<MemorySpace> space(const std::string& device) {
  if (device == "auto") return {};
  return device == "gpu" ? MemorySpace::device : MemorySpace::host;
}

LossSpikeConfig loss_spike(const Settings& s) {
  LossSpikeConfig l;
  l.factor = s.number("run.loss_spike.factor");
  l.window = small(s, "run.loss_spike.window");
  l.action = enumerator<SpikeAction>(spike_action_names, s.string("run.loss_spike.action"));
  l.max_rollbacks = small(s, "run.loss_spike.max_rollbacks");
  return l;
}

// Steps of an interval. A fraction of steps that are not counted yet is some interval: what a plan
// depends on is whether there is one.
std::int64_t interval(const Settings& s, const std::string& path) {
  return s.number(path) == 0.0 ? 0 : std::max<std::int64_t>(1, s.integer(path));
}

RunConfig run(const Settings& s) {
  RunConfig r;
  r.steps = s.has("run.steps") ? s.integer("run.steps") : 0;
  r.seed = static_cast<std::uint64_t>(s.integer("run.seed"));
  r.directory = s.string("run.directory");
  r.eval_interval = interval(s, "run.eval_interval");
  r.eval_steps = s.integer("run.eval_steps");
  r.progress = s.string("run.progress");
  r.neftune_noise_alpha = s.number("neftune_noise_alpha");
  r.peak_flops = s.number("run.peak_flops");
  r.stop_before_end = s.seconds("run.stop_before_end");
  r.time_limit = s.seconds("run.time_limit");
  r.collective_timeout = s.seconds("run.collective_timeout");
  r.max_bad_steps = s.integer("run.max_bad_steps");
  r.loss_spike = loss_spike(s);
  r.space = space(s.string("run.device"));
  return r;
}

CheckpointConfig checkpoint(const Settings& s) {
  CheckpointConfig c;
  c.directory = s.string("checkpoint.directory");
  c.interval = interval(s, "checkpoint.interval");
  c.keep = small(s, "checkpoint.keep");
  c.resume = s.string("checkpoint.resume");
  c.at_end = s.boolean("checkpoint.at_end");
  for (const char* name :
       {"stage3_gather_16bit_weights_on_model_save", "gather_16bit_weights_on_model_save",
        "stage3_gather_fp16_weights_on_model_save"})
    c.export_at_end |= s.boolean(std::string("zero_optimization.") + name);
  c.files = small(s, "checkpoint.files");
  c.striping_factor = small(s, "checkpoint.striping_factor");
  c.striping_unit = s.integer("checkpoint.striping_unit");
  c.alignment = s.integer("checkpoint.alignment");
  c.collective = s.boolean("checkpoint.collective");
  if (s.is_auto("checkpoint.async"))
    c.async = AsyncWrites::where_it_fits;
  else if (s.boolean("checkpoint.async"))
    c.async = AsyncWrites::on;
  return c;
}

// `old`: DeepSpeed's old switches for the device "cpu".
OffloadDevice offload_device(const Settings& s, const std::string& section,
                             std::initializer_list<const char*> old) {
  const std::string device = s.string(section + "device");
  if (device == "nvme") return OffloadDevice::nvme;
  bool cpu = device == "cpu";
  for (const char* key : old) cpu |= s.boolean(std::string("zero_optimization.") + key);
  return cpu ? OffloadDevice::cpu : OffloadDevice::none;
}

OffloadOptimizerConfig offload_optimizer(const Settings& s) {
  const std::string p = "zero_optimization.offload_optimizer.";
  OffloadOptimizerConfig o;
  o.device = offload_device(s, p, {"cpu_offload"});
  if (s.has(p + "nvme_path")) o.nvme_path = s.string(p + "nvme_path");
  o.buffers = small(s, p + "buffer_count");
  o.pipeline_read = s.boolean(p + "pipeline_read");
  o.pipeline_write = s.boolean(p + "pipeline_write");
  o.ratio = s.number(p + "ratio");
  o.part = s.integer("zero_optimization.sub_group_size");
  if (s.has(p + "buffer_size")) o.part = std::min(o.part, s.integer(p + "buffer_size"));
  return o;
}

OffloadParamConfig offload_param(const Settings& s) {
  const std::string p = "zero_optimization.offload_param.";
  OffloadParamConfig o;
  o.device = offload_device(s, p, {"cpu_offload_param", "cpu_offload_params"});
  if (s.has(p + "nvme_path")) o.nvme_path = s.string(p + "nvme_path");
  o.buffers = small(s, p + "buffer_count");
  o.buffer_size = s.integer(p + "buffer_size");
  o.max_in_cpu = s.integer(p + "max_in_cpu");
  o.ratio = s.number(p + "ratio");
  o.pipeline_read = s.boolean(p + "pipeline_read");
  o.pipeline_write = s.boolean(p + "pipeline_write");
  return o;
}

ZeroConfig zero(const Settings& s) {
  ZeroConfig z;
  z.stage = small(s, "zero_optimization.stage");
  const int mics = small(s, "zero_optimization.mics_shard_size");
  const int hpz = small(s, "zero_optimization.zero_hpz_partition_size");
  z.shard_size = std::max(mics, hpz > 1 ? hpz : 0);
  z.shard_by_hpz = hpz > 1;
  const std::string strategy = "fsdp.sharding_strategy";
  if (s.has(strategy) && s.string(strategy) == "HYBRID_SHARD" && z.shard_size == 0)
    z.shard_size = -1;
  z.limit_gathers = s.boolean("fsdp.limit_all_gathers");
  z.overlap = s.boolean("zero_optimization.overlap_comm");
  z.reduce_bucket_size = s.integer("zero_optimization.reduce_bucket_size");
  z.allgather_bucket_size = s.integer("zero_optimization.allgather_bucket_size");
  z.prefetch_bucket_size = s.integer("zero_optimization.stage3_prefetch_bucket_size");
  z.persistence_threshold = s.integer("zero_optimization.stage3_param_persistence_threshold");
  z.max_live_parameters = s.integer("zero_optimization.stage3_max_live_parameters");
  z.offload_optimizer = offload_optimizer(s);
  z.offload_param = offload_param(s);
  return z;
}

PrecisionConfig precision(const Settings& s) {
  PrecisionConfig p;
  const bool fp16 = s.boolean("fp16.enabled");
  if (fp16) p.type = DType::f16;
  if (s.boolean("bf16.enabled") || s.boolean("bfloat16.enabled")) p.type = DType::bf16;
  p.fp8 = s.boolean("fp8.enabled");
  p.gradient_type = s.string("data_types.grad_accum_dtype") == "fp32" ? DType::f32 : p.type;
  LossScaleConfig& scale = p.loss_scale;
  scale.enabled = fp16;
  scale.fixed = s.number("fp16.loss_scale");
  scale.initial_power = small(s, "fp16.initial_scale_power");
  scale.window = s.integer("fp16.loss_scale_window");
  scale.hysteresis = small(s, "fp16.hysteresis");
  scale.consecutive_hysteresis = s.boolean("fp16.consecutive_hysteresis");
  scale.least = s.number("fp16.min_loss_scale");
  scale.steps = s.has("run.steps") ? s.integer("run.steps") : 0;
  return p;
}

// number_checkpoints N recomputes the first N layers of each stage (DeepSpeed: N of the whole
// model), pipeline.activation_checkpoint_interval >= 1 every layer. Without either, nothing is
// recomputed, unless granularity is "selective": naming it means every layer.
RecomputeConfig recompute(const Settings& s) {
  const std::string section = "activation_checkpointing.";
  const std::string number = section + "number_checkpoints";
  const bool selective = s.string(section + "granularity") == "selective";
  const bool every_layer =
      s.integer("pipeline.activation_checkpoint_interval") > 0 || (selective && !s.has(number));
  RecomputeConfig r;
  r.partition_inputs = s.boolean(section + "partition_activations");
  r.inputs_on_host = s.boolean(section + "cpu_checkpointing");
  r.keep_outputs = s.boolean(section + "keep_outputs");
  r.layers = every_layer || !s.has(number) ? 0 : small(s, number);
  if (every_layer || r.layers > 0) r.what = selective ? Recompute::attention : Recompute::layer;
  return r;
}

}  // namespace

Config to_config(const Settings& s, const ModelConfig& model) {
  Config c;
  c.model = model;
  c.model.trainability = trainability(s);
  if (model.lora) c.model.trainability.train_only = trained_tensors(model.lora);
  if (const std::string bits = s.string("model.quantize"); bits != "none")
    c.model.kept = {bits, static_cast<int>(size_of(precision(s).type))};
  c.data = data(s);
  c.parallel = parallel(s);
  c.run = run(s);
  c.checkpoint = checkpoint(s);
  c.batch = {s.integer("train_batch_size"), s.integer("train_micro_batch_size_per_gpu"),
             s.integer("gradient_accumulation_steps")};
  c.scheduler = scheduler_config(s);
  c.optimizer = optimizer_config(s, c.scheduler);
  c.loss = {s.string("loss.type"),
            s.number("loss.beta"),
            s.number("loss.label_smoothing"),
            s.number("loss.simpo_gamma"),
            s.number("loss.chosen_weight"),
            s.number("loss.z_coefficient")};
  if (preference_loss(c) != nullptr) c.data.rows_per_sample = 2;
  c.gradient_clipping = s.number("gradient_clipping");
  c.zero = zero(s);
  c.aio = {s.integer("aio.block_size"), small(s, "aio.queue_depth")};
  c.precision = precision(s);
  c.recompute = recompute(s);
  c.steps_per_print = s.integer("steps_per_print");
  c.dump_state = s.boolean("dump_state");
  return c;
}

}  // namespace triax
