// zero_optimization, activation_checkpointing, aio, pipeline: where DeepSpeed keeps what.
#include "src/config/key_table.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;
const char* const zero = "zero_optimization.";

void add_zero(Keys& k) {
  k.push_back(obeyed(std::string(zero) + "stage", integer, 0, from_to(0, 3),
                     "ZeRO stage: what is cut over the data ranks. 0 nothing, 1 optimizer state, 2 "
                     "gradients too, 3 parameters too"));
  k.push_back(obeyed(std::string(zero) + "overlap_comm", boolean, true, anything(),
                     "reduce and gather while compute goes on")
                  .or_auto());
  k.push_back(obeyed(std::string(zero) + "reduce_bucket_size", integer, 500'000'000, at_least(1),
                     "gradients whose reduction may be under way at once; one layer always may, "
                     "and never more than the largest layer")
                  .in("elements")
                  .or_auto());
  const auto tunes = [&](std::initializer_list<const char*> names, KeyType type,
                         const char* meaning) {
    for (const auto* name : names)
      k.push_back(accepted(zero + std::string(name), type, nullptr, meaning));
  };
  tunes({"contiguous_gradients", "reduce_scatter", "use_multi_rank_bucket_allreduce",
         "allgather_partitions", "round_robin_gradients", "grad_hooks", "legacy_stage1"},
        boolean, "how gradients travel; buckets here start during the backward pass");
  tunes({"allgather_bucket_size", "sub_group_size"}, integer,
        "bucket size; triax sizes buckets by layer");
  tunes({"load_from_fp32_weights", "elastic_checkpoint", "ignore_unused_parameters",
         "pipeline_loading_checkpoint"},
        boolean, "triax checkpoints are float32, whole, and fit any grid");
  tunes({"memory_efficient_linear", "override_module_apply", "log_trace_cache_warnings",
         "enable_sanity_checks", "save_muon_momentum_buffer_in_memory", "sdma_allgather"},
        boolean, "of DeepSpeed's own machinery");
  tunes({"model_persistence_threshold", "max_reuse_distance", "module_granularity_threshold",
         "stage3_model_persistence_threshold", "stage3_max_reuse_distance",
         "stage3_module_granularity_threshold"},
        integer,
        "of ZeRO stage 3; parameters are released as soon as the next layer does not read them");
  tunes({"gather_16bit_weights_on_model_save", "use_all_reduce_for_fetch_params",
         "allgather_sequential", "stage3_gather_16bit_weights_on_model_save",
         "stage3_gather_fp16_weights_on_model_save", "stage3_use_all_reduce_for_fetch_params",
         "stage3_allgather_sequential", "mics_hierarchical_params_gather"},
        boolean, "of ZeRO stage 3");
  tunes({"zeropp_loco_param", "leaf_module"}, object, "of ZeRO stage 3");
}

// Each by the name that DeepSpeed documents and by the one that it uses inside.
void add_stage3(Keys& k) {
  const auto add = [&](const std::string& name, std::int64_t fallback, std::int64_t least,
                       const std::string& meaning) {
    const std::string path = std::string(zero) + "stage3_" + name;
    k.push_back(obeyed(path, integer, fallback, at_least(static_cast<double>(least)), meaning)
                    .in("elements")
                    .or_auto());
    k.push_back(obeyed(zero + name, integer, nullptr, at_least(static_cast<double>(least)),
                       "the same as stage3_" + name)
                    .in("elements")
                    .or_auto());
  };
  add("prefetch_bucket_size", 50'000'000, 0,
      "parameters gathered ahead of their use; 0 none, else one layer always may be, and never "
      "more "
      "than the largest layer");
  add("param_persistence_threshold", 100'000, 0,
      "tensors of at most so many elements stay whole on every rank");
  add("max_live_parameters", 1'000'000'000, 0,
      "parameters that are whole at once, above which nothing is gathered ahead");
}

void add_zero_features(Keys& k) {
  const auto no = [&](const char* name, KeyType type, nlohmann::json off, const char* meaning,
                      const char* reason) {
    k.push_back(refused(zero + std::string(name), type, std::move(off), meaning, reason));
  };
  no("zero_hpz_partition_size", integer, 1, "ZeRO++ secondary partition",
     "hybrid sharding is not built yet");
  no("zero_quantized_weights", boolean, false, "ZeRO++ quantized weights",
     "it changes the weights; triax gathers them as they are");
  no("zero_quantized_nontrainable_weights", boolean, false, "ZeRO++ quantized frozen weights",
     "it changes the weights; triax gathers them as they are");
  no("zero_quantized_gradients", boolean, false, "ZeRO++ quantized gradients",
     "it changes the gradients; triax reduces them in float32");
  no("mics_shard_size", integer, -1, "MiCS shard group", "hybrid sharding is not built yet");
  no("zenflow", object, nullptr, "asynchronous offloaded updates", "ZenFlow is not built yet");
  no("cpu_offload", boolean, false, "old name of offload_optimizer", "offload is not built yet");
  no("cpu_offload_params", boolean, false, "old name of offload_param", "offload is not built yet");
  no("cpu_offload_param", boolean, false, "old name of offload_param", "offload is not built yet");
  k.push_back(accepted(zero + std::string("cpu_offload_use_pin_memory"), boolean, nullptr,
                       "unused without offload"));
  for (const auto* section : {"offload_param.", "offload_optimizer."}) {
    const auto path = zero + std::string(section);
    k.push_back(obeyed(path + "device", string, "none", one_of({"none"}),
                       "where the state lives; none: on the device")
                    .without({"cpu", "nvme"}));
    for (const auto* name : {"nvme_path", "buffer_count", "buffer_size", "max_in_cpu", "pin_memory",
                             "pipeline_read", "pipeline_write", "pipeline", "fast_init", "ratio",
                             "super_offload", "cpuadam_cores_perc"})
      k.push_back(accepted(path + name, any, nullptr, "unused while device is none"));
  }
}

void add_activation_checkpointing(Keys& k) {
  const auto p = std::string("activation_checkpointing.");
  k.push_back(obeyed(p + "number_checkpoints", integer, nullptr, from_to(0, 1e6),
                     "layers of a stage, from its first, whose activations are recomputed in the "
                     "backward pass; null or 0: none")
                  .in("layers"));
  k.push_back(accepted(p + "partition_activations", boolean, false,
                       "parallel.sequence_parallel splits activations over the tensor ranks"));
  k.push_back(refused(p + "cpu_checkpointing", boolean, false, "layer inputs kept in host memory",
                      "offload is not built yet"));
  k.push_back(accepted(p + "contiguous_memory_optimization", boolean, false,
                       "activations lie in one arena"));
  k.push_back(accepted(p + "synchronize_checkpoint_boundary", boolean, false,
                       "of DeepSpeed's own machinery"));
  k.push_back(accepted(p + "profile", boolean, false, "of DeepSpeed's own machinery"));
}

void add_pipeline(Keys& k) {
  k.push_back(obeyed(
      "pipeline.activation_checkpoint_interval", integer, 0, from_to(0, 1e6),
      "1 or more: recompute every layer from its input; 0: as activation_checkpointing says"));
  k.push_back(refused("pipeline.stages", integer, "auto", "pipeline stages",
                      "here they are parallel.pipeline"));
  k.push_back(accepted("pipeline.partition", string, "best", "stages are cut to balanced cost"));
  k.push_back(accepted("pipeline.seed_layers", boolean, false, "weights never depend on the grid"));
  k.push_back(accepted("pipeline.pipe_partitioned", boolean, true, "of DeepSpeed's own machinery"));
  k.push_back(accepted("pipeline.grad_partitioned", boolean, true, "of DeepSpeed's own machinery"));
  k.push_back(accepted("pipeline.use_reentrant", boolean, nullptr, "of DeepSpeed's own machinery"));
}

}  // namespace

Keys memory_keys() {
  Keys k;
  add_zero(k);
  add_stage3(k);
  add_zero_features(k);
  add_activation_checkpointing(k);
  add_pipeline(k);
  for (const auto* name : {"block_size", "queue_depth", "intra_op_parallelism", "thread_count"})
    k.push_back(accepted(std::string("aio.") + name, integer, nullptr,
                         "asynchronous I/O, unused without offload to NVMe"));
  for (const auto* name : {"single_submit", "overlap_events", "use_gds"})
    k.push_back(accepted(std::string("aio.") + name, boolean, nullptr,
                         "asynchronous I/O, unused without offload to NVMe"));
  return k;
}

}  // namespace triax
