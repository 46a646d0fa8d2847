// SPDX-License-Identifier: Apache-2.0
#pragma once
// The job as plain structs: validated, immutable from here on, and with every "auto" resolved
// except those that need the grid.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"
#include "src/config/kept_bits.hpp"
#include "src/schedule/plan.hpp"

namespace triax {

/// Rotary positions for contexts longer than the model was trained on: config.json's rope_scaling.
/// A kind uses the values of its keys (rope_kinds.hpp); 0 and empty lists: not given.
struct RopeScaling {
  std::string type = "default";  // a row of rope_kinds()
  double factor = 0.0;
  double low_freq_factor = 0.0, high_freq_factor = 0.0;
  std::int64_t original_positions = 0;  // context length before scaling
  double beta_fast = 0.0, beta_slow = 0.0;
  bool truncate = false;
  double attention_factor = 0.0, mscale = 0.0, mscale_all_dim = 0.0;
  std::vector<double> short_factor = {}, long_factor = {};
  bool operator==(const RopeScaling&) const = default;
};

/// Which tensors of a model are trained: patterns of Hugging Face's names (is_trained). At most one
/// of the lists has any; none: all tensors are trained.
struct Trainability {
  std::vector<std::string> freeze = {}, train_only = {};
  std::string origin = {};  // file and line of the list, for errors
  bool operator==(const Trainability&) const = default;
};

/// Low-rank adapter of one linear map.
struct AdapterShape {
  int rank = 8;
  double alpha = 8.0;
  double scale = 1.0;  // of B A x: alpha / rank, or alpha / sqrt(rank)
  bool operator==(const AdapterShape&) const = default;
};

/// Initial values of an adapter: PEFT's init_lora_weights true, "gaussian" and false.
enum class LoraStart : std::uint8_t { usual, gaussian, random };

/// Names of an adapter's tensors after that of their module.
inline constexpr const char* lora_a_suffix = ".lora_A.weight";
inline constexpr const char* lora_b_suffix = ".lora_B.weight";
inline constexpr const char* lora_magnitude_suffix = ".lora_magnitude_vector";

/// Low-rank adapters of a model (LoRA) and modules that are trained whole beside them: nothing else
/// is trained. src/config/lora resolves the keys.
struct LoraConfig {
  std::map<std::string, AdapterShape> modules = {};  // by the linear map's name; empty: none
  float dropout = 0.0F;                              // of the adapters' inputs
  LoraStart start = LoraStart::usual;
  bool dora = false;                 // each map has a magnitude of its outputs (Liu et al. 2024)
  std::set<std::string> saved = {};  // modules trained whole: PEFT's modules_to_save
  std::string keys = {};             // JSON: PEFT's keys, as adapter_config.json has them
  std::string from = {};             // directory of the adapter to start from; empty: fresh
  explicit operator bool() const { return !modules.empty(); }
  bool operator==(const LoraConfig&) const = default;
};

/// Shape of a model, independent of the names its config.json uses.
struct ModelConfig {
  std::string architecture = "gpt2";  // the name of a row of src/model/families
  int layers = 12;
  int heads = 12;
  int kv_heads = 12;  // == heads without grouped-query attention
  int head_size = 64;
  int hidden = 768;         // E
  int intermediate = 3072;  // I
  int positions = 1024;     // longest sequence
  int vocabulary = 50257;   // V, unpadded
  float norm_epsilon = 1e-5F;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  double local_rope_theta = 0.0;    // of blocks with a window, without scaling; 0: as in the others
  int rotary_size = 0;              // rotated dimensions of each head; 0: all
  std::vector<bool> rotary = {};    // by block: has rotary positions; empty: all blocks
  int window = 0;                   // keys that a query of a windowed block sees, its own included
  std::vector<bool> windowed = {};  // by block; empty: no block
  float embedding_scale = 1.0F;     // factor on token embeddings
  float residual_scale = 1.0F;      // factor on outputs of attention and MLP, before they are added
  float logit_divisor = 1.0F;       // of the logits
  float attention_scale = 0.0F;     // of q k^T; 0: 1 / sqrt(head_size)
  float attention_soft_cap = 0.0F;  // bound of attention scores; 0: none
  float logit_soft_cap = 0.0F;      // bound of logits; 0: none
  bool parallel_residual = false;   // attention and MLP read the same input
  bool exact_gelu = false;          // GELU by erf instead of tanh
  bool tied_embeddings = true;
  bool qkv_bias = true;
  bool attention_output_bias = true;
  bool mlp_bias = true;
  float initializer_range = 0.02F;
  float embedding_dropout = 0.0F;
  float attention_dropout = 0.0F;
  float residual_dropout = 0.0F;
  std::string weights;           // directory of model.safetensors; empty: fresh weights
  std::string token_ids = "{}";  // JSON: config.json's bos_, eos_ and pad_token_id, for exports
  Trainability trainability;
  LoraConfig lora;
  KeptBits kept;
};

/// Share of a source until a step.
struct SourceWeight {
  double weight = 1.0;
  std::int64_t until_step = 0;  // the first step with the next weight; 0: to the end
  bool operator==(const SourceWeight&) const = default;
};

/// Files of data.train that are blended with others, sample by sample, to a weight.
struct DataSource {
  std::size_t files = 0;                   // number of files, after those of the sources before
  std::vector<SourceWeight> weights = {};  // in the order of their steps; at least one
  bool operator==(const DataSource&) const = default;
};

struct DataConfig {
  std::vector<std::string> train;        // files, globs expanded, in order
  std::vector<DataSource> sources = {};  // of train; empty: one source
  std::vector<std::string> valid;
  int sequence_length = 1024;  // T
  int rows_per_sample = 1;     // sequences of T tokens: 2 in preference data, chosen and rejected
  int sample_length() const { return sequence_length * rows_per_sample; }  // tokens
  bool shuffle = true;
  std::uint64_t seed = 1234;
  std::string tokenizer = "auto";
  std::string tokenizer_hash = {};   // SHA-256 of the tokenizer that the run stores; empty: none
  bool mask_documents = false;       // attention and positions begin anew in each document
  bool mask_end_token_loss = false;  // the loss leaves out the first token of each document
  bool packing = false;              // several conversations per sample, with mask_documents
  std::int64_t end_token = -1;       // of the tokenizer of data, which the start finds; -1: none

  bool finds_documents() const { return mask_documents || mask_end_token_loss; }
};

struct ParallelConfig {
  int tensor = 1, pipeline = 1, data = 1;
  std::string schedule = "1f1b";
  Plans compute_order = {};  // of a schedule by hand; empty: a named one
  int chunks = 1;            // model chunks per pipeline stage
  // Transformer blocks of each chunk, in the model's order; empty: as even in FLOPs as can be.
  std::vector<int> stage_layers = {};
  bool stages_by_speed = false;  // stage_layers follow from the speed of the ranks, at the start
  bool sequence_parallel = true;
  std::string order = "data,pipeline,tensor";  // slowest axis first
  bool tensor_across_nodes = false;
};

/// Action of the trainer at a loss spike.
enum class SpikeAction : std::uint8_t { warn, stop, rollback };
/// Values of run.loss_spike.action, in the order of SpikeAction.
inline constexpr const char* spike_action_names[] = {"warn", "stop", "rollback"};

/// Criterion for a loss spike: see LossSpikes.
struct LossSpikeConfig {
  double factor = 3.0;  // spike: a loss above factor x median
  int window = 50;      // number of past losses in the median
  SpikeAction action = SpikeAction::warn;
  int max_rollbacks = 3;  // near one step; one more spike there stops the run
};

struct RunConfig {
  std::int64_t steps = 100;
  std::uint64_t seed = 1234;
  std::string directory = "runs/triax";
  std::int64_t eval_interval = 0;  // steps; 0: never
  std::int64_t eval_steps = 0;     // global batches an evaluation reads; 0: the whole of data.valid
  std::string progress = "auto";   // "auto" (a bar on a terminal), "bar", "lines", "none"
  double neftune_noise_alpha = 0.0;   // noise on embeddings in training (NEFTune); 0: none
  double peak_flops = 0.0;            // one rank's peak, for mfu in metrics.jsonl; 0: unknown
  double stop_before_end = 0.0;       // seconds before the time limit; 0: never stops early
  double time_limit = 0.0;            // seconds from the start; 0: Slurm's time limit
  double collective_timeout = 600.0;  // seconds a rank waits for the others, at most
  std::int64_t max_bad_steps = 3;     // skipped in a row because loss or gradient is not finite
  LossSpikeConfig loss_spike;
  /// Memory that holds and computes the tensors; none: GPUs if every rank has one, else CPUs.
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
  bool export_at_end = false;  // 16-bit weights for Hugging Face in <run.directory>/huggingface
  int files = 1;               // data files of one checkpoint; above 1: part files beside a master
  int striping_factor = 0;     // hints for a parallel file system; 0: its own default
  std::int64_t striping_unit = 0;  // bytes
  std::int64_t alignment = 4096;   // bytes
  AsyncWrites async = AsyncWrites::off;
  bool collective = false;  // ranks write together; training waits meanwhile
};

/// Counts samples: in preference data, pairs.
struct BatchConfig {
  std::int64_t global = 1;  // train_batch_size = micro x accumulation x data-parallel size
  std::int64_t micro = 1;
  std::int64_t accumulation = 1;  // micro-batches per step
};

/// Tensors with options of their own, as a group of PyTorch's param_groups.
struct OptimizerGroup {
  std::string match;  // pattern of tensor names: * ? [...]
  double rate = 1.0;  // learning rate, as a factor of that of the other tensors
  std::optional<double> weight_decay = {};  // none: as for the other tensors
  bool operator==(const OptimizerGroup&) const = default;
};

/// Optimizer: its name, which is that of a row of src/state/optimizer/rules, and its parameters.
struct OptimizerConfig {
  std::string type = "AdamW";
  double learning_rate = 1e-3;
  bool rate_given = false;            // the job gives it as a number
  double beta1 = 0.9, beta2 = 0.999;  // of an optimizer that has them; schedules may move them
  double weight_decay = 0.0;          // DeepSpeed's default, not PyTorch's 0.01
  // Other parameters by their names in optimizer.params; a switch is 0 or 1. One that is absent has
  // the row's default.
  std::map<std::string, double> numbers = {};
  std::vector<OptimizerGroup> groups = {};  // a tensor belongs to the first that matches
  double clip_value = 0.0;  // largest magnitude of an element of the gradient; 0: no limit
  // Seed for stochastic rounding of 16-bit weights; none: round to nearest.
  std::optional<std::uint64_t> stochastic_rounding;
};

struct LossConfig {
  std::string type = "next_token";  // or a row of src/config/preference
  double beta = 0.1;                // of preference losses, as TRL has it
  double label_smoothing = 0.0;     // share of pairs that are taken for swapped
  double simpo_gamma = 0.5;         // margin
  double chosen_weight = 0.0;       // of the cross-entropy of chosen answers, added to the loss
  double z_coefficient = 0.0;       // of the z-loss; 0: none
};

/// Learning-rate schedule: its name, which is that of a row of src/config/rates, and the parameters
/// of that row by their names in scheduler.params. Each has its default; one that is absent is left
/// out.
struct SchedulerConfig {
  std::string type = "constant";
  std::map<std::string, double> numbers;  // a switch is 0 or 1
  std::map<std::string, std::string> words;
  bool operator==(const SchedulerConfig&) const = default;
};

enum class OffloadDevice : std::uint8_t { none, cpu, nvme };

/// Location of the optimizer state (DeepSpeed's zero_optimization.offload_optimizer).
struct OffloadOptimizerConfig {
  OffloadDevice device = OffloadDevice::none;
  std::string nvme_path;              // a directory
  int buffers = 4;                    // most sub-groups of the state in memory at once
  bool pipeline_read = false;         // fetch the next sub-group while one is stepped
  bool pipeline_write = false;        // store the last sub-group while the next is stepped
  double ratio = 1.0;                 // share of the state that is offloaded
  std::int64_t part = 1'000'000'000;  // most elements of a sub-group (sub_group_size, buffer_size)
};

/// Location of the parameter shards (DeepSpeed's zero_optimization.offload_param). Sizes count
/// elements.
struct OffloadParamConfig {
  OffloadDevice device = OffloadDevice::none;
  std::string nvme_path;                    // a directory
  int buffers = 5;                          // shards in memory at once when they are loaded ahead
  std::int64_t buffer_size = 100'000'000;   // average elements of a buffer
  std::int64_t max_in_cpu = 1'000'000'000;  // elements that stay in memory
  double ratio = 1.0;                       // offloaded share of a rank's shards
  bool pipeline_read = true;                // load shards ahead of use
  bool pipeline_write = true;               // save while the next layer is stepped
};

/// Reads and writes of offloaded state (DeepSpeed's aio).
struct AioConfig {
  std::int64_t block_size = 1 << 20;  // bytes of one operation
  int queue_depth = 8;                // operations in flight
};

/// Sharding of the run's state over the data ranks (DeepSpeed's zero_optimization). Sizes count
/// elements.
struct ZeroConfig {
  int stage = 0;
  int shard_size = 0;         // data ranks per copy of the state; 0: all; -1: those of a node
  bool shard_by_hpz = false;  // shard_size is zero_hpz_partition_size, which shards less in ZeRO++
  bool overlap = true;        // reduce and gather during compute
  bool limit_gathers = true;  // gather ahead at most the size of the largest layer
  std::int64_t reduce_bucket_size = 500'000'000;
  std::int64_t allgather_bucket_size = 500'000'000;  // of updated parameters
  std::int64_t prefetch_bucket_size = 50'000'000;    // ZeRO-3
  std::int64_t persistence_threshold = 100'000;      // ZeRO-3
  std::int64_t max_live_parameters = 1'000'000'000;  // ZeRO-3
  OffloadOptimizerConfig offload_optimizer;
  OffloadParamConfig offload_param;  // ZeRO-3
};

/// Loss scaling, which keeps float16 gradients above underflow. Names and defaults are DeepSpeed's.
struct LossScaleConfig {
  bool enabled = false;                 // fp16 only
  double fixed = 0.0;                   // fp16.loss_scale; 0: dynamic scaling by the fields below
  int initial_power = 16;               // initial scale: 2^initial_power
  std::int64_t window = 1000;           // steps without overflow before the scale doubles
  int hysteresis = 2;                   // overflows before the scale halves
  bool consecutive_hysteresis = false;  // a step without overflow restarts the hysteresis count
  double least = 1.0;
  std::int64_t steps = 0;  // run.steps; 0: unknown
};

/// Element types. Sums within an operation, master weights and moments are always float32.
struct PrecisionConfig {
  DType type = DType::f32;           // of parameters and activations
  DType gradient_type = DType::f32;  // of parameter gradients
  bool fp8 = false;                  // 8-bit products in the blocks' linear maps; `type` is bf16
  LossScaleConfig loss_scale;
};

/// Activations of a layer that the backward pass recomputes instead of keeping.
enum class Recompute : std::uint8_t {
  none,
  attention,  // "selective": core attention's results from q, k and v (Korthikanti et al. 2022)
  layer       // "full": all but the layer's input
};

/// DeepSpeed's activation_checkpointing.
struct RecomputeConfig {
  Recompute what = Recompute::none;
  int layers = 0;                 // recomputed layers of each stage, from its first; 0: all
  bool keep_outputs = false;      // keep outputs of norms and GELU; false: recompute them
  bool partition_inputs = false;  // shard inputs of recomputed layers over the tensor ranks
  bool inputs_on_host = false;    // inputs of recomputed layers in host memory (cpu_checkpointing)
};

struct Config {
  ModelConfig model;
  DataConfig data;
  ParallelConfig parallel;
  RunConfig run;
  CheckpointConfig checkpoint;
  BatchConfig batch;
  LossConfig loss;
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
