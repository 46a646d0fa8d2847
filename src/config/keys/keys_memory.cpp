// SPDX-License-Identifier: Apache-2.0
// Rows of zero_optimization, fsdp, activation_checkpointing, aio and pipeline.
#include <fmt/format.h>

#include "src/config/keys/key_table.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;

// Path of a key of the section zero_optimization.
std::string zero(const std::string& key) {
  return fmt::format("zero_optimization.{}", key);
}

void add_zero(Keys& k) {
  k.push_back(obeyed(zero("stage"), integer, 0, from_to(0, 3),
                     "state that is sharded over the data ranks. 0: none (ZeRO-0), 1: optimizer "
                     "state (ZeRO-1), 2: gradients too (ZeRO-2), 3: parameters too (ZeRO-3); auto: "
                     "2, or as fsdp sets it")
                  .or_auto());
  k.push_back(
      obeyed(zero("overlap_comm"), boolean, true, anything(), "reduce and gather during compute")
          .or_auto());
  k.push_back(obeyed(zero("reduce_bucket_size"), integer, 500'000'000, at_least(1),
                     "most gradients in reduction at once, capped at the largest layer; one layer "
                     "is always allowed")
                  .in("elements")
                  .or_auto());
  k.push_back(obeyed(zero("allgather_bucket_size"), integer, 500'000'000, at_least(1),
                     "most updated parameters being gathered at once, over all data ranks "
                     "together; a larger layer is gathered in pieces. With ZeRO-3 for parameters "
                     "that stay whole; stage3_prefetch_bucket_size is for the rest")
                  .in("elements")
                  .or_auto());
  k.push_back(obeyed(zero("round_robin_gradients"), boolean, false, anything(),
                     "every data rank reduces, keeps and offloads its share of each layer's "
                     "gradients, so that all work at once; always so here"));
  const auto tunes = [&](std::initializer_list<const char*> names, KeyType type,
                         const char* meaning) {
    for (const auto* name : names) k.push_back(accepted(zero(name), type, nullptr, meaning));
  };
  tunes({"contiguous_gradients", "reduce_scatter", "use_multi_rank_bucket_allreduce",
         "allgather_partitions", "grad_hooks", "legacy_stage1"},
        boolean, "how gradients are sent; buckets here start during the backward pass");
  tunes({"load_from_fp32_weights"}, boolean,
        "a resumed run continues from the float32 master weights, if the checkpoint has them");
  tunes({"elastic_checkpoint", "ignore_unused_parameters", "pipeline_loading_checkpoint"}, boolean,
        "triax checkpoints are whole tensors, and fit any grid");
  tunes({"memory_efficient_linear", "override_module_apply", "log_trace_cache_warnings",
         "enable_sanity_checks", "save_muon_momentum_buffer_in_memory", "sdma_allgather"},
        boolean, "internal to DeepSpeed");
  tunes({"model_persistence_threshold", "max_reuse_distance", "module_granularity_threshold",
         "stage3_model_persistence_threshold", "stage3_max_reuse_distance",
         "stage3_module_granularity_threshold"},
        integer,
        "for ZeRO-3; parameters are released as soon as the next layer does not read them");
  tunes({"use_all_reduce_for_fetch_params", "allgather_sequential",
         "stage3_use_all_reduce_for_fetch_params", "stage3_allgather_sequential",
         "mics_hierarchical_params_gather"},
        boolean, "for ZeRO-3");
  tunes({"zeropp_loco_param", "leaf_module"}, object, "for ZeRO-3");
}

// Every key under the name that DeepSpeed documents and under the one it uses inside.
void add_stage3(Keys& k) {
  const auto add = [&](const std::string& name, std::int64_t default_value, std::int64_t least,
                       const std::string& meaning) {
    const std::string path = zero(fmt::format("stage3_{}", name));
    k.push_back(obeyed(path, integer, default_value, at_least(static_cast<double>(least)), meaning)
                    .in("elements")
                    .or_auto());
    k.push_back(obeyed(zero(name), integer, nullptr, at_least(static_cast<double>(least)),
                       "alias of stage3_" + name)
                    .in("elements")
                    .or_auto());
  };
  add("prefetch_bucket_size", 50'000'000, 0,
      "most parameters gathered ahead of their use, capped at the largest layer; 0: none, else one "
      "layer is always allowed");
  add("param_persistence_threshold", 100'000, 0, "largest tensor that stays whole on every rank");
  add("max_live_parameters", 1'000'000'000, 0,
      "whole parameters above which nothing more is gathered ahead");
}

// The key under its documented name, DeepSpeed's internal name and its older one.
void add_export(Keys& k) {
  const std::string name = zero("stage3_gather_16bit_weights_on_model_save");
  k.push_back(obeyed(name, boolean, false, anything(),
                     "after the last step, write the whole model for Hugging Face to huggingface "
                     "in run.directory, in the type of the training (float32: in bfloat16); in any "
                     "ZeRO stage, and even if checkpoint.at_end is false; auto: false")
                  .or_auto());
  for (const auto* other :
       {"gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save"})
    k.push_back(obeyed(zero(other), boolean, false, anything(),
                       "the same as stage3_gather_16bit_weights_on_model_save")
                    .or_auto());
}

// Hybrid sharding: the state is sharded over groups of data ranks, and each group has a full copy.
void add_hybrid(Keys& k) {
  k.push_back(obeyed(zero("mics_shard_size"), integer, -1, at_least(-1),
                     "data ranks per copy of the sharded state (MiCS); -1: all")
                  .in("ranks"));
  k.push_back(obeyed(zero("zero_hpz_partition_size"), integer, 1, at_least(1),
                     "mics_shard_size under ZeRO++'s name; 1: all. ZeRO++ keeps a second copy of "
                     "only the parameters in each group and shards all else over all ranks; here "
                     "each group has a copy of all sharded state")
                  .in("ranks"));
}

// PyTorch's FullyShardedDataParallel: its names for ZeRO's settings.
void add_fsdp(Keys& k) {
  const std::string p = "fsdp.";
  k.push_back(obeyed(p + "sharding_strategy", string, nullptr,
                     one_of_any_case({"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD"}),
                     "sharding under FSDP's names: ZeRO-3, ZeRO-2, ZeRO-0, and ZeRO-3 within each "
                     "node with copies across nodes; all tensors are sharded"));
  k.push_back(obeyed(p + "backward_prefetch", string, "BACKWARD_PRE",
                     one_of_any_case({"BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"}),
                     "BACKWARD_PRE: gather parameters ahead of their use; else not"));
  k.push_back(obeyed(p + "limit_all_gathers", boolean, true, anything(),
                     "gather at most the largest layer ahead; false: up to "
                     "zero_optimization.stage3_prefetch_bucket_size"));
  k.push_back(refused(p + "cpu_offload", boolean, false, "parameters in host memory",
                      "set zero_optimization.offload_param"));
  k.push_back(refused(p + "offload_params", boolean, false, "parameters in host memory",
                      "set zero_optimization.offload_param"));
  for (const auto* name :
       {"forward_prefetch", "use_orig_params", "sync_module_states", "cpu_ram_efficient_loading",
        "state_dict_type", "auto_wrap_policy", "transformer_layer_cls_to_wrap", "min_num_params",
        "mixed_precision", "reshard_after_forward", "version", "xla"})
    k.push_back(accepted(p + name, any, nullptr, "internal to PyTorch; a unit is a layer"));
}

void add_zero_features(Keys& k) {
  const auto no = [&](const char* name, KeyType type, nlohmann::json off, const char* meaning,
                      const char* reason) {
    k.push_back(refused(zero(name), type, std::move(off), meaning, reason));
  };
  no("zero_quantized_weights", boolean, false, "ZeRO++ quantized weights",
     "it changes the weights; triax gathers them as they are");
  no("zero_quantized_nontrainable_weights", boolean, false, "ZeRO++ quantized frozen weights",
     "it changes the weights; triax gathers them as they are");
  no("zero_quantized_gradients", boolean, false, "ZeRO++ quantized gradients",
     "it changes the gradients; triax sums them in the type of data_types.grad_accum_dtype");
  no("zenflow", object, nullptr, "asynchronous offloaded updates", "ZenFlow is not built yet");
}

// Keys that both offload sections share; `what` is the state that the device holds.
void add_offload_device(Keys& k, const std::string& path, const std::string& what) {
  k.push_back(obeyed(path + "device", string, "none", one_of({"none", "cpu", "nvme"}),
                     "location of the " + what +
                         ". none: memory of the compute device; cpu: host memory (the same in a "
                         "build for the CPU); nvme: one file per rank in nvme_path; auto: none")
                  .or_auto());
  k.push_back(obeyed(path + "nvme_path", KeyType::path, nullptr, anything(),
                     "directory for the files of device nvme, on the fastest disk of each node; "
                     "they are removed at the end of the run")
                  .or_empty());
  k.push_back(accepted(path + "pin_memory", boolean, nullptr,
                       "buffers of device nvme are registered with the kernel if it allows that"));
}

void add_offload_optimizer(Keys& k) {
  const auto optimizer = zero("offload_optimizer.");
  add_offload_device(k, optimizer, "optimizer state");
  k.push_back(obeyed(optimizer + "buffer_count", integer, 4, from_to(1, 1e6),
                     "most sub-groups of the state (see sub_group_size) in memory at once; at most "
                     "three are of use: one is fetched, one stepped, one stored")
                  .in("sub-groups"));
  k.push_back(obeyed(optimizer + "pipeline_read", boolean, false, anything(),
                     "fetch the next sub-group while one is stepped"));
  k.push_back(obeyed(optimizer + "pipeline_write", boolean, false, anything(),
                     "store a sub-group while the next is stepped"));
  k.push_back(obeyed(optimizer + "ratio", number, 1.0, from_to(0, 1),
                     "share of the state that is offloaded; the rest stays in memory"));
  k.push_back(obeyed(optimizer + "buffer_size", integer, nullptr, at_least(1),
                     "elements per buffer; limits a sub-group as sub_group_size does")
                  .in("elements"));
  k.push_back(
      accepted(optimizer + "max_in_cpu", any, nullptr,
               "for offload_param; ratio says how much of the optimizer state stays in memory"));
  for (const auto* name : {"pipeline", "fast_init", "super_offload", "cpuadam_cores_perc"})
    k.push_back(accepted(optimizer + name, any, nullptr,
                         "internal to DeepSpeed; fresh state is zeros that no pass writes"));
}

void add_offload_param(Keys& k) {
  const auto param = zero("offload_param.");
  add_offload_device(k, param, "parameters (ZeRO-3)");
  k.push_back(obeyed(param + "buffer_count", integer, 5, from_to(1, 1e6),
                     "layers whose parameters are in memory (GPU memory, if a GPU computes) at "
                     "once when they are loaded ahead of use")
                  .in("layers"));
  k.push_back(obeyed(param + "buffer_size", integer, 100'000'000, at_least(1),
                     "elements per buffer; all buffers together limit what is loaded ahead")
                  .in("elements")
                  .or_auto());
  k.push_back(obeyed(param + "max_in_cpu", integer, 1'000'000'000, at_least(0),
                     "with device nvme: parameters of a rank that stay in host memory; the rest go "
                     "to nvme_path")
                  .in("elements"));
  k.push_back(obeyed(param + "ratio", number, 1.0, from_to(0, 1),
                     "share of a rank's parameters that is offloaded; the rest stays in the memory "
                     "of the compute device (on the CPU like max_in_cpu, as a share)"));
  k.push_back(obeyed(param + "pipeline_read", boolean, true, anything(),
                     "load parameters ahead of their use"));
  k.push_back(obeyed(param + "pipeline_write", boolean, true, anything(),
                     "save stepped parameters while the next layer is stepped"));
  for (const auto* name : {"pipeline", "fast_init", "super_offload", "cpuadam_cores_perc"})
    k.push_back(accepted(param + name, any, nullptr, "for offload_optimizer"));
}

void add_offload(Keys& k) {
  add_offload_optimizer(k);
  add_offload_param(k);
  k.push_back(
      obeyed(
          zero("sub_group_size"), integer, 1'000'000'000, at_least(1),
          "most elements of a sub-group of offloaded optimizer state; triax uses at most 4194304")
          .in("elements"));
  k.push_back(obeyed(zero("cpu_offload"), boolean, false, anything(),
                     "old name of offload_optimizer.device cpu"));
  for (const auto* name : {"cpu_offload_param", "cpu_offload_params"})
    k.push_back(
        obeyed(zero(name), boolean, false, anything(), "old name of offload_param.device cpu"));
  k.push_back(accepted(zero("cpu_offload_use_pin_memory"), boolean, nullptr,
                       "buffers of device nvme are registered with the kernel where it lets them"));
}

void add_aio(Keys& k) {
  k.push_back(obeyed("aio.block_size", integer, 1 << 20, from_to(4096, 1 << 30),
                     "size of one read or write of offloaded state, a multiple of 4096")
                  .in("bytes"));
  k.push_back(obeyed("aio.queue_depth", integer, 8, from_to(1, 4096),
                     "reads and writes of a file in flight at once"));
  for (const auto* name : {"intra_op_parallelism", "thread_count"})
    k.push_back(accepted(std::string("aio.") + name, integer, nullptr,
                         "one thread keeps queue_depth operations in flight (io_uring)"));
  for (const auto* name : {"single_submit", "overlap_events", "use_gds"})
    k.push_back(accepted(std::string("aio.") + name, boolean, nullptr,
                         "operations are submitted together and completed as they end (io_uring)"));
}

void add_activation_checkpointing(Keys& k) {
  const auto p = std::string("activation_checkpointing.");
  k.push_back(
      obeyed(p + "number_checkpoints", integer, nullptr, from_to(0, 1e6),
             "layers of each pipeline stage, from its first, whose activations are recomputed in "
             "the backward pass; 0: none; null: none, or all with granularity selective")
          .in("layers"));
  k.push_back(obeyed(p + "granularity", string, "full", one_of({"full", "selective"}),
                     "activations of a layer that are recomputed. full: all but its input; "
                     "selective: attention alone, from q, k and v (Megatron-LM's name)"));
  k.push_back(obeyed(
      p + "keep_outputs", boolean, false, anything(),
      "keep the outputs of norms and GELU, which the backward pass otherwise recomputes: a GPT-2 "
      "step on a GPU is 3 to 4% shorter, and takes more memory (--dry-run says how much)"));
  k.push_back(obeyed(p + "partition_activations", boolean, false, anything(),
                     "shard the kept input of a recomputed layer over the tensor ranks; "
                     "parallel.sequence_parallel does so already"));
  k.push_back(obeyed(p + "cpu_checkpointing", boolean, false, anything(),
                     "keep the inputs of recomputed layers in host memory while a GPU computes; on "
                     "the CPU they are there already"));
  k.push_back(accepted(p + "contiguous_memory_optimization", boolean, false,
                       "activations lie in one arena"));
  k.push_back(
      accepted(p + "synchronize_checkpoint_boundary", boolean, false, "internal to DeepSpeed"));
  k.push_back(accepted(p + "profile", boolean, false, "internal to DeepSpeed"));
}

void add_pipeline(Keys& k) {
  k.push_back(obeyed("pipeline.activation_checkpoint_interval", integer, 0, from_to(0, 1e6),
                     "1 or more: recompute every layer, whatever number_checkpoints is; 0: as "
                     "number_checkpoints"));
  k.push_back(refused("pipeline.stages", integer, "auto", "pipeline stages",
                      "set parallel.pipeline instead"));
  k.push_back(accepted("pipeline.partition", string, "best", "stages are balanced by cost"));
  k.push_back(accepted("pipeline.seed_layers", boolean, false, "weights never depend on the grid"));
  k.push_back(accepted("pipeline.pipe_partitioned", boolean, true, "internal to DeepSpeed"));
  k.push_back(accepted("pipeline.grad_partitioned", boolean, true, "internal to DeepSpeed"));
  k.push_back(accepted("pipeline.use_reentrant", boolean, nullptr, "internal to DeepSpeed"));
}

}  // namespace

Keys memory_keys() {
  Keys k;
  add_zero(k);
  add_stage3(k);
  add_export(k);
  add_hybrid(k);
  add_fsdp(k);
  add_zero_features(k);
  add_offload(k);
  add_activation_checkpointing(k);
  add_pipeline(k);
  add_aio(k);
  return k;
}

}  // namespace triax
