#pragma once
// The job as plain structs: validated, every "auto" resolved that needs no grid, immutable from
// here on.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

enum class Architecture : std::uint8_t { gpt2, llama, qwen2 };

enum class RopeType : std::uint8_t { unscaled, linear, llama3 };

/// Rotary positions turned slower than trained, for longer texts: config.json's rope_scaling.
struct RopeScaling {
  RopeType type = RopeType::unscaled;
  double factor = 1.0;
  double low_freq_factor = 0.0, high_freq_factor = 0.0;  // llama3
  std::int64_t original_positions = 0;                   // llama3: the context before
  bool operator==(const RopeScaling&) const = default;
};

/// A model's shape, whatever the names its config.json gave the sizes.
struct ModelConfig {
  Architecture architecture = Architecture::gpt2;
  int layers = 12;
  int heads = 12;
  int kv_heads = 12;  // == heads without grouped-query attention
  int head_size = 64;
  int hidden = 768;         // E
  int intermediate = 3072;  // I
  int positions = 1024;     // longest sequence
  int vocabulary = 50257;   // V, unpadded
  float norm_epsilon = 1e-5F;
  double rope_theta = 10000.0;  // llama, qwen2
  RopeScaling rope_scaling;     // llama, qwen2
  bool tied_embeddings = true;
  bool qkv_bias = true;               // gpt2 and qwen2; llama with attention_bias
  bool attention_output_bias = true;  // gpt2; llama with attention_bias
  bool mlp_bias = true;               // gpt2; llama with mlp_bias
  float initializer_range = 0.02F;
  float embedding_dropout = 0.0F;
  float attention_dropout = 0.0F;
  float residual_dropout = 0.0F;
  std::string weights;           // directory of model.safetensors; empty: fresh weights
  std::string token_ids = "{}";  // JSON: config.json's bos_, eos_ and pad_token_id, for exports
};

struct DataConfig {
  std::vector<std::string> train;  // files, globs expanded, in order
  std::vector<std::string> valid;
  int sequence_length = 1024;  // T
  bool shuffle = true;
  std::uint64_t seed = 1234;
  std::string tokenizer = "bytes";
};

struct ParallelConfig {
  int tensor = 1, pipeline = 1, data = 1;
  std::string schedule = "1f1b";
  int chunks = 1;  // model chunks a stage
  bool sequence_parallel = true;
  std::string order = "data,pipeline,tensor";  // slowest axis first
  bool tensor_across_nodes = false;
};

/// The response of a run to a loss spike.
enum class SpikeAction : std::uint8_t { warn, stop, rollback };
/// As run.loss_spike.action names them, in their order.
inline constexpr const char* spike_action_names[] = {"warn", "stop", "rollback"};

/// When the loss of a step is a spike: see LossSpikes.
struct LossSpikeConfig {
  double factor = 3.0;  // above so many times the median
  int window = 50;      // losses that the median is of
  SpikeAction action = SpikeAction::warn;
  int max_rollbacks = 3;  // at one place
};

struct RunConfig {
  std::int64_t steps = 100;
  std::uint64_t seed = 1234;
  std::string directory = "runs/triax";
  std::int64_t eval_interval = 0;  // steps; 0: never
  std::int64_t eval_steps = 0;     // global batches an evaluation reads; 0: the whole of data.valid
  std::string progress = "auto";   // "auto" (a bar on a terminal), "bar", "lines", "none"
  double peak_flops = 0.0;         // of one rank, for mfu in metrics.jsonl; 0: unknown
  double stop_before_end = 0.0;    // seconds; 0: the clock is not looked at
  double time_limit = 0.0;         // seconds from the start; 0: what Slurm says
  double collective_timeout = 600.0;  // seconds that a rank waits for others, at most
  std::int64_t max_bad_steps = 3;     // skipped in a row, as loss or gradient is not finite
  LossSpikeConfig loss_spike;
  /// Where tensors live and are computed; none: on GPUs where every rank has one.
  std::optional<MemorySpace> space;
};

/// Whether training goes on while a checkpoint is written.
enum class AsyncWrites : std::uint8_t { off, where_it_fits, on };

struct CheckpointConfig {
  std::string directory;        // default: <run.directory>/checkpoints
  std::int64_t interval = 0;    // steps; 0: at the end only
  int keep = 3;                 // newest files kept; 0: all
  std::string resume = "auto";  // "auto", "never", "must" or a file
  bool at_end = true;
  bool export_at_end = false;      // 16-bit weights for Hugging Face in <run.directory>/huggingface
  int files = 1;                   // that the data lie in; more than 1: parts beside a master
  int striping_factor = 0;         // hints for a parallel file system; 0: its own default
  std::int64_t striping_unit = 0;  // bytes
  std::int64_t alignment = 4096;   // bytes
  AsyncWrites async = AsyncWrites::off;
  bool collective = false;  // ranks write together, where training stands meanwhile
};

struct BatchConfig {
  std::int64_t global = 1;  // train_batch_size = micro x accumulation x data-parallel size
  std::int64_t micro = 1;
  std::int64_t accumulation = 1;  // micro-batches a step
};

struct OptimizerConfig {
  double learning_rate = 1e-3;
  bool rate_given = false;  // by the job, as a number
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;  // DeepSpeed's default, not PyTorch's 0.01
  // Seed of the random rounding of 16-bit weights; none: to nearest.
  std::optional<std::uint64_t> stochastic_rounding;
};

enum class SchedulerKind : std::uint8_t {
  constant,
  warmup,
  warmup_decay,
  warmup_cosine,
  one_cycle,
  cosine
};
/// As scheduler.type names them, in their order; "constant" is none there.
inline constexpr const char* scheduler_names[] = {"constant",       "WarmupLR", "WarmupDecayLR",
                                                  "WarmupCosineLR", "OneCycle", "cosine"};

/// Learning-rate schedule; the fields a kind does not name are unused. Names and defaults as
/// DeepSpeed's.
struct SchedulerConfig {
  SchedulerKind kind = SchedulerKind::constant;
  // WarmupLR, WarmupDecayLR, WarmupCosineLR
  double warmup_min_lr = 0.0, warmup_max_lr = 1e-3;
  std::int64_t warmup_num_steps = 1000, total_num_steps = 0;
  bool warmup_linear = false;  // warmup_type "linear"; else "log"
  double warmup_min_ratio = 0.0, cos_min_ratio = 1e-4;
  // OneCycle
  double cycle_min_lr = 0.0, cycle_max_lr = 0.0, decay_lr_rate = 0.0;
  std::int64_t cycle_first_step_size = 2000, cycle_second_step_size = 2000, decay_step_size = 0;
  std::int64_t cycle_first_stair_count = 0, cycle_second_stair_count = 0;
  bool cycle_momentum = true;
  double cycle_min_mom = 0.8, cycle_max_mom = 0.9, decay_mom_rate = 0.0;
  // cosine
  std::int64_t warmup = 0;
  double min_lr = 0.0;
};

enum class OffloadDevice : std::uint8_t { none, cpu, nvme };

/// Where optimizer state is (DeepSpeed's zero_optimization.offload_optimizer).
struct OffloadOptimizerConfig {
  OffloadDevice device = OffloadDevice::none;
  std::string nvme_path;              // a directory
  int buffers = 4;                    // parts of the state in memory at once, at most
  bool pipeline_read = false;         // fetch the next part while one is stepped
  bool pipeline_write = false;        // store the last part meanwhile
  double ratio = 1.0;                 // of the state; the rest stays in memory
  std::int64_t part = 1'000'000'000;  // most elements of a part (sub_group_size, buffer_size)
};

/// Where the parameters' shards are (DeepSpeed's zero_optimization.offload_param). Sizes count
/// elements.
struct OffloadParamConfig {
  OffloadDevice device = OffloadDevice::none;
  std::string nvme_path;                    // a directory
  int buffers = 5;                          // shards in memory at once, where loaded ahead
  std::int64_t buffer_size = 100'000'000;   // of each, on average
  std::int64_t max_in_cpu = 1'000'000'000;  // that stay in memory all the time
  double ratio = 1.0;                       // of a rank's; the rest stays in memory too
  bool pipeline_read = true;                // load ahead of use
  bool pipeline_write = true;               // save while the next layer is stepped
};

/// How files of offloaded state are read and written (DeepSpeed's aio).
struct AioConfig {
  std::int64_t block_size = 1 << 20;  // bytes of one operation
  int queue_depth = 8;                // operations at once
};

/// What of a run's state is cut over the data ranks (DeepSpeed's zero_optimization). Sizes count
/// elements.
struct ZeroConfig {
  int stage = 0;
  int shard_size = 0;  // data ranks that share one copy of the state; 0: all; -1: those of a node
  bool shard_by_hpz = false;  // shard_size is zero_hpz_partition_size, which means less in ZeRO++
  bool overlap = true;        // reduce and gather while compute goes on
  bool limit_gathers = true;  // ahead of their use, to the largest layer
  std::int64_t reduce_bucket_size = 500'000'000;
  std::int64_t allgather_bucket_size = 500'000'000;  // of updated parameters
  std::int64_t prefetch_bucket_size = 50'000'000;    // stage 3
  std::int64_t persistence_threshold = 100'000;      // stage 3
  std::int64_t max_live_parameters = 1'000'000'000;  // stage 3
  OffloadOptimizerConfig offload_optimizer;
  OffloadParamConfig offload_param;  // stage 3
};

/// The factor on the loss that keeps float16 gradients above underflow. Names and defaults as
/// DeepSpeed's.
struct LossScaleConfig {
  bool enabled = false;                 // in fp16 only
  double fixed = 0.0;                   // fp16.loss_scale; 0: dynamic, as the rest says
  int initial_power = 16;               // it starts at 2 to this power
  std::int64_t window = 1000;           // steps without overflow after which it doubles
  int hysteresis = 2;                   // overflows before it halves
  bool consecutive_hysteresis = false;  // a step without overflow counts them anew
  double least = 1.0;
  std::int64_t steps = 0;  // of the run (run.steps); 0: not known
};

/// Element types; sums within an operation, master weights and moments are float32 always.
struct PrecisionConfig {
  DType type = DType::f32;           // of parameters and activations
  DType gradient_type = DType::f32;  // of the parameters' gradients
  bool fp8 = false;                  // the blocks' linear maps multiply in 8 bits; `type` is bf16
  LossScaleConfig loss_scale;
};

/// What of a layer the backward pass makes again instead of keeping it.
enum class Recompute : std::uint8_t {
  none,
  attention,  // "selective": what core attention makes of q, k and v (Korthikanti et al. 2022)
  layer       // "full": all but the layer's input
};

/// DeepSpeed's activation_checkpointing.
struct RecomputeConfig {
  Recompute what = Recompute::none;
  int layers = 0;                 // of a stage, from its first; 0: every one
  bool keep_outputs = false;      // of norms and GELU; false: they are made again in every layer
  bool partition_inputs = false;  // of recomputed layers, over the tensor ranks
  bool inputs_on_host = false;    // of recomputed layers (cpu_checkpointing)
};

struct Config {
  ModelConfig model;
  DataConfig data;
  ParallelConfig parallel;
  RunConfig run;
  CheckpointConfig checkpoint;
  BatchConfig batch;
  OptimizerConfig optimizer;
  SchedulerConfig scheduler;
  double gradient_clipping = 0.0;  // global L2 norm; 0: none
  ZeroConfig zero;
  AioConfig aio;
  PrecisionConfig precision;
  RecomputeConfig recompute;
  std::int64_t steps_per_print = 10;
  bool dump_state = false;
};

}  // namespace triax
