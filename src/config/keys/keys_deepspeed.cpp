// SPDX-License-Identifier: Apache-2.0
// Rows of the rest of ds_config.json: communication, monitors, profilers, elasticity, other
// engines.
#include "src/config/keys/key_table.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;
using Names = std::initializer_list<const char*>;

void add_accepted(Keys& k, const std::string& section, Names names, const char* meaning) {
  for (const auto* name : names) k.push_back(accepted(section + name, any, nullptr, meaning));
}

void add_communication(Keys& k) {
  k.push_back(obeyed("communication_data_type", string, nullptr,
                     one_of_any_case({"fp32", "bf16", "fp16"}),
                     "type in which ranks sum gradients. It must be the type in which they are "
                     "kept (data_types.grad_accum_dtype)"));
  k.push_back(refused(
      "sequence_parallel_size", integer, 1, "ranks that share a sequence (Ulysses)",
      "not built; parallel.tensor with parallel.sequence_parallel shards activations over ranks"));
  k.push_back(accepted("seq_parallel_communication_data_type", string, nullptr,
                       "for DeepSpeed-Ulysses, which is not built"));
  k.push_back(obeyed("gradient_allreduce_op", string, "mean", one_of({"mean"}),
                     "gradients are those of the mean loss over the global batch")
                  .without({"sum"}));
  // Both keys guard against overflow when ranks are summed; gradients of the global mean need
  // neither.
  const char* divided =
      "gradients are those of the global batch's mean in the backward pass already; no rank "
      "divides them before or after the sum";
  k.push_back(accepted("prescale_gradients", boolean, false, divided));
  k.push_back(accepted("gradient_predivide_factor", number, 1.0, divided));
  k.push_back(accepted("sparse_gradients", boolean, false, "embedding gradients are sent dense"));
  k.push_back(accepted("disable_allgather", boolean, false, "internal to DeepSpeed"));
  k.push_back(
      accepted("zero_allow_untested_optimizer", boolean, false, "the optimizers are tested"));
  k.push_back(accepted("zero_force_ds_cpu_optimizer", boolean, true, "internal to DeepSpeed"));
  k.push_back(
      accepted("dataloader_drop_last", boolean, false, "samples wrap around into the next epoch"));
  k.push_back(accepted("vocabulary_size", integer, nullptr, "model.vocab_size is used instead"));
  k.push_back(
      accepted("use_data_before_expert_parallelism", boolean, false, "there are no experts"));
  k.push_back(accepted("use_data_before_expert_parallel_", boolean, false, "there are no experts"));
  k.push_back(accepted("graph_harvesting", boolean, false, "for CUDA graphs"));
}

void add_output(Keys& k) {
  add_accepted(k, "", {"wall_clock_breakdown", "memory_breakdown", "log_level"},
               "metrics.jsonl has times and memory of every step");
  const char* metrics = "metrics.jsonl has the curves";
  k.push_back(obeyed("tensorboard.enabled", boolean, false, anything(),
                     "DeepSpeed's name of run.tensorboard"));
  add_accepted(k, "tensorboard.", {"output_path", "job_name"},
               "event files are in tensorboard in run.directory");
  k.push_back(refused("wandb.enabled", boolean, false, "curves on Weights & Biases' servers",
                      "triax sends nothing to other machines. Set run.tensorboard: wandb sync DIR "
                      "uploads its event files, and triax report draws the curves without a "
                      "server"));
  add_accepted(k, "wandb.", {"group", "team", "project"}, metrics);
  add_accepted(k, "csv_monitor.", {"enabled", "output_path", "job_name"}, metrics);
  add_accepted(k, "comet.",
               {"enabled", "samples_log_interval", "project", "workspace", "api_key",
                "experiment_name", "experiment_key", "online", "mode"},
               metrics);
  add_accepted(k, "flops_profiler.",
               {"enabled", "recompute_fwd_factor", "profile_step", "module_depth", "top_modules",
                "detailed", "output_file"},
               metrics);
  add_accepted(k, "comms_logger.", {"enabled", "verbose", "prof_all", "debug", "prof_ops"},
               "metrics.jsonl has the bytes sent by axis");
  add_accepted(k, "timers.throughput.", {"enabled", "synchronized"}, metrics);
}

void add_autotuning(Keys& k) {
  k.push_back(refused("autotuning.enabled", boolean, false,
                      "micro-batch and ZeRO stage found by trials",
                      "there is no autotuner; set train_micro_batch_size_per_gpu and "
                      "zero_optimization.stage yourself"));
  add_accepted(k, "autotuning.",
               {"results_dir",
                "exps_dir",
                "overwrite",
                "metric",
                "metric_path",
                "start_profile_step",
                "end_profile_step",
                "fast",
                "max_train_batch_size",
                "min_train_batch_size",
                "max_train_micro_batch_size_per_gpu",
                "min_train_micro_batch_size_per_gpu",
                "mp_size",
                "num_tuning_micro_batch_sizes",
                "tuner_type",
                "tuner_early_stopping",
                "tuner_num_trials",
                "arg_mappings",
                "model_info",
                "model_info_path"},
               "unused while autotuning.enabled is false");
}

void add_compiler(Keys& k) {
  add_accepted(k, "compile.",
               {"deepcompile",
                "enabled",
                "backend",
                "kwargs",
                "free_activation",
                "free_activation_threshold",
                "offload_activation",
                "offload_activation_pin_memory",
                "offload_opt_states",
                "double_buffer",
                "symmetric_memory",
                "debug_log",
                "offload_parameters",
                "sync_before_reduce",
                "sync_after_reduce",
                "sync_before_allgather",
                "sync_after_allgather",
                "keep_int_input_tensors",
                "keep_all_input_tensors",
                "passes"},
               "there is no graph compiler");
}

void add_checkpoint_engines(Keys& k) {
  add_accepted(
      k, "nebula.",
      {"enabled", "enable_nebula_load", "load_path", "nebula_load_path", "persistent_storage_path",
       "persistent_time_interval", "num_of_version_in_retention"},
      "checkpoints are HDF5 files");
  k.push_back(accepted("datastates_ckpt", any, nullptr, "checkpoints are HDF5 files"));
}

void add_engines(Keys& k) {
  k.push_back(refused("elasticity.enabled", boolean, false,
                      "global batch chosen by the number of ranks",
                      "the batch never depends on the grid here; set train_batch_size"));
  add_accepted(k, "elasticity.",
               {"max_train_batch_size", "micro_batch_sizes", "min_gpus", "max_gpus", "min_time",
                "prefer_larger_batch", "prefer_large_batch", "version",
                "ignore_non_elastic_batch_info", "num_gpus_per_node", "model_parallel_size"},
               "unused while elasticity.enabled is false");
  k.push_back(refused("hybrid_engine.enabled", boolean, false, "training mixed with generation",
                      "the hybrid engine is not built"));
  add_accepted(k, "hybrid_engine.",
               {"max_out_tokens", "inference_tp_size", "release_inference_cache", "pin_parameters",
                "tp_gather_partition_size", "enable_cuda_graph"},
               "unused while hybrid_engine.enabled is false");
  k.push_back(refused("tensor_parallel.autotp_size", integer, 0, "AutoTP's tensor size; 0: none",
                      "set parallel.tensor instead"));
  add_accepted(k, "tensor_parallel.",
               {"dtype", "tp", "tensor_parallel", "tp_overlap_comm", "preset_model",
                "partition_config", "injection_policy_tuple", "keep_module_on_host",
                "kernel_inject", "replace_with_kernel_inject"},
               "unused without autotp_size");
}

void add_experts(Keys& k) {
  k.push_back(refused("expert_parallel.enabled", boolean, false, "mixture of experts",
                      "experts are not built"));
  add_accepted(k, "expert_parallel.",
               {"autoep_size",
                "expert_tensor_parallel_size",
                "validate_folding_routing",
                "preset_model",
                "moe_layer_pattern",
                "expert_pattern",
                "router_pattern",
                "use_grouped_mm",
                "disable_triton_grouped_mm",
                "route_norm",
                "route_scale",
                "score_apply",
                "combine_impl",
                "num_expert_groups",
                "num_limited_groups",
                "score_func",
                "top_k",
                "load_balance_coeff",
                "routed_scaling_factor",
                "expert_w1",
                "expert_w2",
                "expert_w3",
                "num_experts_attr",
                "top_k_attr",
                "has_shared_experts",
                "shared_experts_pattern",
                "shared_experts_gate_pattern"},
               "unused while expert_parallel.enabled is false");
}

}  // namespace

Keys deepspeed_keys() {
  Keys k;
  add_communication(k);
  add_output(k);
  add_autotuning(k);
  add_compiler(k);
  add_checkpoint_engines(k);
  add_engines(k);
  add_experts(k);
  return k;
}

}  // namespace triax
