// SPDX-License-Identifier: Apache-2.0
// Rows of Axolotl's keys: steps, optimizer, precision, checkpoints, memory, ranks.
#include "src/axolotl/axolotl_keys.hpp"

namespace triax {
namespace {

using enum AxolotlUse;

constexpr const char* no_optimizer =
    "it belongs to an optimizer that is not built. Set optimizer to adamw_torch_fused";
constexpr const char* mpi = "MPI places the ranks and connects them";
constexpr const char* internal = "it is a matter of PyTorch";
constexpr const char* own_zero = "ZeRO does it: set deepspeed to a file, or fsdp_config";
constexpr const char* no_context =
    "a sequence over several ranks is not built. Leave it out, and use tensor_parallel_size";
constexpr const char* no_jagged = "restarts of the schedule are not built. Leave it out";

constexpr AxolotlKey rows[] = {
    // batch and steps
    {"micro_batch_size", becomes, "train_micro_batch_size_per_gpu"},
    {"gradient_accumulation_steps", becomes, "gradient_accumulation_steps"},
    {"batch_size", becomes, "gradient_accumulation_steps: batch_size / micro_batch_size"},
    {"eval_batch_size", without_effect, "a validation uses micro_batch_size: its loss is the same"},
    {"auto_find_batch_size", refused,
     "triax plan finds a micro-batch that fits. Set micro_batch_size"},
    {"num_epochs", becomes, "run.epochs"},
    {"max_steps", becomes, "run.steps"},
    {"learning_rate", becomes, "optimizer.params.lr"},
    {"lr_scheduler", becomes, "scheduler.type"},
    {"lr_scheduler_kwargs", becomes, "scheduler.params"},
    {"cosine_min_lr_ratio", becomes, "scheduler.params.min_lr_rate"},
    {"cosine_constant_lr_ratio", refused, "the cosine falls to the last step. Leave it out"},
    {"lr_quadratic_warmup", refused, "the warm-up is linear. Leave it out"},
    {"lr_div_factor", refused, "one_cycle is not built. Leave it out"},
    {"lr_groups", refused, "set optimizer.groups in a job of triax"},
    {"embedding_lr", refused, "set optimizer.groups in a job of triax"},
    {"embedding_lr_scale", refused, "set optimizer.groups in a job of triax"},
    {"warmup_steps", becomes, "scheduler.params.num_warmup_steps"},
    {"warmup_ratio", becomes, "scheduler.params.num_warmup_steps, as a fraction"},
    {"jagged_restart_steps", refused, no_jagged},
    {"jagged_restart_warmup_steps", refused, no_jagged},
    {"jagged_restart_anneal_steps", refused, no_jagged},
    // optimizer
    {"optimizer", becomes, "optimizer.type"},
    {"optim_args", refused, no_optimizer},
    {"optim_target_modules", refused, no_optimizer},
    {"weight_decay", becomes, "optimizer.params.weight_decay"},
    {"adam_beta1", becomes, "optimizer.params.betas"},
    {"adam_beta2", becomes, "optimizer.params.betas"},
    {"adam_beta3", refused, no_optimizer},
    {"adam_epsilon", becomes, "optimizer.params.eps"},
    {"adam_epsilon2", refused, no_optimizer},
    {"max_grad_norm", becomes, "gradient_clipping"},
    {"dion_lr", refused, no_optimizer},
    {"dion_momentum", refused, no_optimizer},
    {"dion_rank_fraction", refused, no_optimizer},
    {"dion_rank_multiple_of", refused, no_optimizer},
    {"qgalore_rank", refused, no_optimizer},
    {"qgalore_update_proj_gap", refused, no_optimizer},
    {"qgalore_scale", refused, no_optimizer},
    {"qgalore_proj_type", refused, no_optimizer},
    {"qgalore_proj_quant", refused, no_optimizer},
    {"qgalore_proj_bits", refused, no_optimizer},
    {"qgalore_proj_group_size", refused, no_optimizer},
    {"qgalore_cos_threshold", refused, no_optimizer},
    {"qgalore_gamma_proj", refused, no_optimizer},
    {"qgalore_queue_size", refused, no_optimizer},
    {"torchdistx_path", without_effect, "it is for an optimizer of PyTorch"},
    {"trainer_cls", refused, "there is one trainer. Leave it out"},
    {"seed", becomes, "run.seed and data.seed"},
    {"loss_watchdog_threshold", without_effect, "run.loss_spike watches the loss by its median"},
    {"loss_watchdog_patience", without_effect, "run.loss_spike watches the loss by its median"},
    // precision
    {"bf16", becomes, "bf16.enabled"},
    {"bfloat16", becomes, "bf16.enabled"},
    {"fp16", becomes, "fp16.enabled"},
    {"float16", becomes, "fp16.enabled"},
    {"float32", without_effect, "the type is float32 where neither bf16 nor fp16 is set"},
    {"fp8", becomes, "fp8.enabled"},
    {"fp8_config", refused, "fp8 has no settings here. Leave it out"},
    {"fp8_enable_fsdp_float8_all_gather", without_effect, "parameters are gathered in 16 bits"},
    {"tf32", without_effect, "products of 16-bit types do not use it"},
    {"fp32_norms", refused, "norms have the model's type, and sums in float32. Leave it out"},
    {"fp32_norm_classes", without_effect, "it belongs to fp32_norms"},
    // validation and checkpoints
    {"eval_steps", becomes, "run.eval_interval"},
    {"evals_per_epoch", becomes, "run.eval_interval, as a fraction of the run"},
    {"eval_strategy", becomes, "run.eval_interval"},
    {"evaluation_strategy", becomes, "run.eval_interval"},
    {"save_steps", becomes, "checkpoint.interval"},
    {"saves_per_epoch", becomes, "checkpoint.interval, as a fraction of the run"},
    {"save_strategy", becomes, "checkpoint.interval; best: checkpoint.keep_best"},
    {"save_total_limit", becomes, "checkpoint.keep"},
    {"save_only_model", without_effect, "a checkpoint holds the whole state, to be resumed"},
    {"save_first_step", without_effect, "checkpoint.interval says when files are written"},
    {"save_safetensors", without_effect, "weights are exported as safetensors"},
    {"dynamic_checkpoint", without_effect, "SIGUSR2 asks for a checkpoint"},
    {"early_stopping_patience", becomes, "run.early_stopping.patience"},
    {"load_best_model_at_end", becomes, "checkpoint.keep_best"},
    {"metric_for_best_model", becomes, "nothing: it must be eval_loss"},
    {"greater_is_better", becomes, "nothing: a lower loss is better"},
    {"output_dir", becomes, "run.directory"},
    {"resume_from_checkpoint", becomes, "checkpoint.resume"},
    {"auto_resume_from_checkpoints", becomes, "checkpoint.resume"},
    {"logging_steps", becomes, "steps_per_print"},
    // memory
    {"gradient_checkpointing", becomes, "pipeline.activation_checkpoint_interval"},
    {"gradient_checkpointing_kwargs", without_effect, internal},
    {"selective_checkpointing", refused,
     "it names layers of PyTorch. Use gradient_checkpointing, or "
     "activation_checkpointing.granularity "
     "in a job of triax"},
    {"activation_offloading", refused,
     "recompute instead: gradient_checkpointing: true, or offload to keep its inputs on the host"},
    {"layer_offloading", refused, "set deepspeed to a file that offloads parameters"},
    {"deepspeed", becomes, "extends: the file is the base of the job"},
    {"deepcompile", without_effect, internal},
    {"fsdp", becomes, "zero_optimization.stage"},
    {"fsdp_config", becomes, "zero_optimization"},
    {"fsdp_version", without_effect, "ZeRO shards the state"},
    {"fsdp_final_state_dict_type", without_effect, "the export is one set of files"},
    {"tensor_parallel_size", becomes, "parallel.tensor"},
    {"context_parallel_size", refused, no_context, "1"},
    {"sequence_parallel_degree", refused, no_context, "1"},
    {"heads_k_stride", refused, no_context},
    {"ring_attn_func", refused, no_context},
    {"dp_shard_size", refused, own_zero, "1"},
    {"dp_replicate_size", refused, own_zero, "1"},
    {"torch_compile", without_effect, internal},
    {"torch_compile_backend", without_effect, internal},
    {"torch_compile_mode", without_effect, internal},
    {"torch_compile_options", without_effect, internal},
    {"torch_empty_cache_steps", without_effect, internal},
    {"gc_steps", without_effect, internal},
    {"gc_collect_steps", without_effect, internal},
    {"accelerator_config", without_effect, internal},
    {"world_size", without_effect, mpi},
    {"local_rank", without_effect, mpi},
    {"ddp", without_effect, mpi},
    {"ddp_timeout", without_effect, "run.collective_timeout is the limit"},
    {"ddp_bucket_cap_mb", without_effect, "zero_optimization.reduce_bucket_size is the size"},
    {"ddp_broadcast_buffers", without_effect, mpi},
    {"ddp_find_unused_parameters", without_effect, mpi},
    {"use_ray", without_effect, mpi},
    {"ray_run_name", without_effect, mpi},
    {"ray_num_workers", without_effect, mpi},
    {"resources_per_worker", without_effect, mpi},
};

constexpr AxolotlKey fsdp_rows[] = {
    {"fsdp_version", without_effect, "ZeRO shards the state"},
    {"activation_checkpointing", becomes, "pipeline.activation_checkpoint_interval"},
    {"offload_params", becomes,
     "zero_optimization.offload_param and offload_optimizer: host memory"},
    {"sync_module_states", without_effect, "ranks read the part that they hold"},
    {"cpu_ram_efficient_loading", without_effect, "ranks read the part that they hold"},
    {"cpu_offload_pin_memory", without_effect, internal},
    {"use_orig_params", without_effect, internal},
    {"limit_all_gathers", becomes, "fsdp.limit_all_gathers"},
    {"state_dict_type", without_effect, "a checkpoint is one file, whatever the ranks"},
    {"final_state_dict_type", without_effect, "the export is one set of files"},
    {"auto_wrap_policy", without_effect, "each layer is gathered alone"},
    {"transformer_layer_cls_to_wrap", without_effect, "each layer is gathered alone"},
    {"min_num_params", without_effect, "each layer is gathered alone"},
    {"backward_prefetch", without_effect, "layers are gathered ahead"},
    {"forward_prefetch", without_effect, "layers are gathered ahead"},
    {"reshard_after_forward", becomes, "zero_optimization.stage: true 3, false 2"},
    {"sharding_strategy", becomes, "fsdp.sharding_strategy"},
    {"mixed_precision_policy", without_effect, "bf16 and fp16 say it"},
};

}  // namespace

std::span<const AxolotlKey> axolotl_training_keys() {
  return rows;
}

std::span<const AxolotlKey> axolotl_fsdp_keys() {
  return fsdp_rows;
}

}  // namespace triax
