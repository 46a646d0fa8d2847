// SPDX-License-Identifier: Apache-2.0
#include "src/config/keys/key_table.hpp"

#include <gtest/gtest.h>

#include <set>

namespace triax {
namespace {

TEST(KeyTable, EveryRowIsWhole) {
  const KeyTable table;
  for (const auto& key : table.keys()) {
    EXPECT_FALSE(key.meaning.empty()) << key.path;
    EXPECT_EQ(key.meaning.find('\n'), std::string::npos) << key.path;
    EXPECT_EQ(problem_with(key, key.default_value), std::nullopt) << key.path;
    EXPECT_EQ(key.treatment == Treatment::refused, !key.reason.empty() && key.not_built.empty())
        << key.path;
    // A default is a value that could also have been written.
    auto written = key;
    written.default_value = nullptr;
    if (key.treatment != Treatment::refused) {
      EXPECT_EQ(problem_with(written, key.default_value), std::nullopt) << key.path;
    }
    for (const auto& value : key.not_built)
      EXPECT_NE(problem_with(key, value), std::nullopt) << key.path;
  }
}

TEST(KeyTable, NoKeyHasTwoRowsForOneType) {
  const KeyTable table;
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& key : table.keys()) {
    for (const auto& type : key.scope)
      EXPECT_TRUE(seen.emplace(key.path, type).second) << key.path << " " << type;
    if (key.scope.empty()) {
      EXPECT_TRUE(seen.emplace(key.path, "").second) << key.path;
    }
  }
  for (const auto& [path, type] : seen)
    if (!type.empty()) {
      EXPECT_FALSE(seen.contains({path, ""})) << path;
    }
}

TEST(KeyTable, NoKeyIsBothAValueAndASection) {
  const KeyTable table;
  for (const auto& key : table.keys()) EXPECT_FALSE(table.is_section(key.path)) << key.path;
}

TEST(KeyTable, FindsRowsByTypeOfTheSection) {
  const KeyTable table;
  EXPECT_EQ(table.find("model.vocab_size", "llama")->default_value, 32000);
  EXPECT_EQ(table.find("model.vocab_size", "qwen2")->default_value, 151936);
  EXPECT_EQ(table.find("model.n_layer", "llama"), nullptr);
  EXPECT_NE(table.find("model.n_layer"), nullptr);
  EXPECT_NE(table.find("amp.opt_level", ""), nullptr);
  EXPECT_EQ(table.find("no.such", ""), nullptr);
  EXPECT_TRUE(table.is_section("checkpoint.parallel_write"));
  EXPECT_FALSE(table.is_section("checkpoint.parallel"));
}

TEST(KeyTable, SuggestsTheNearestKey) {
  const KeyTable table;
  EXPECT_EQ(table.nearest("parallel.tensro", ""), "parallel.tensor");
  EXPECT_EQ(table.nearest("tensor", ""), "parallel.tensor");
  EXPECT_EQ(table.nearest("run.stage", ""), "zero_optimization.stage");
  EXPECT_EQ(table.nearest("fp8.recipe", ""), "fp8.enabled");
  EXPECT_EQ(table.nearest("zero_optimisation", ""), "zero_optimization");
  EXPECT_EQ(table.nearest("model.n_layers", "gpt2"), "model.n_layer");
  EXPECT_EQ(table.nearest("optimizer.params.learning_rate", "AdamW"), "optimizer.params.lr");
  EXPECT_EQ(table.nearest("optimizer.params.epsilon", "AdamW"), "optimizer.params.eps");
  EXPECT_EQ(table.nearest("model.hidden_sise", "llama"), "model.hidden_size");
  EXPECT_EQ(table.nearest("model.num_layers", "qwen2"), "model.num_hidden_layers");
}

// Every key of the documentation of ds_config.json (0.19), in the parts that its headings give.
TEST(KeyTable, KnowsDeepSpeedsKeys) {
  const KeyTable table;
  for (const auto* path :
       {"train_batch_size",
        "train_micro_batch_size_per_gpu",
        "gradient_accumulation_steps",
        "optimizer.type",
        "optimizer.params.lr",
        "optimizer.params.torch_adam",
        "optimizer.params.adam_w_mode",
        "optimizer.params.freeze_step",
        "scheduler.type",
        "scheduler.params.warmup_min_lr",
        "communication_data_type",
        "gradient_allreduce_op",
        "prescale_gradients",
        "gradient_predivide_factor",
        "sparse_gradients",
        "fp16.enabled",
        "fp16.auto_cast",
        "fp16.loss_scale",
        "fp16.initial_scale_power",
        "fp16.loss_scale_window",
        "fp16.hysteresis",
        "fp16.consecutive_hysteresis",
        "fp16.min_loss_scale",
        "bf16.enabled",
        "amp.enabled",
        "amp.opt_level",
        "torch_autocast.enabled",
        "gradient_clipping",
        "zero_optimization.stage",
        "zero_optimization.allgather_partitions",
        "zero_optimization.allgather_bucket_size",
        "zero_optimization.overlap_comm",
        "zero_optimization.reduce_scatter",
        "zero_optimization.reduce_bucket_size",
        "zero_optimization.contiguous_gradients",
        "zero_optimization.load_from_fp32_weights",
        "zero_optimization.grad_hooks",
        "zero_optimization.round_robin_gradients",
        "zero_optimization.offload_param.device",
        "zero_optimization.offload_param.nvme_path",
        "zero_optimization.offload_param.buffer_size",
        "zero_optimization.offload_param.max_in_cpu",
        "zero_optimization.offload_optimizer.device",
        "zero_optimization.offload_optimizer.ratio",
        "zero_optimization.offload_optimizer.fast_init",
        "zero_optimization.offload_optimizer.pin_memory",
        "zero_optimization.stage3_max_live_parameters",
        "zero_optimization.stage3_max_reuse_distance",
        "zero_optimization.stage3_prefetch_bucket_size",
        "zero_optimization.stage3_param_persistence_threshold",
        "zero_optimization.stage3_gather_16bit_weights_on_model_save",
        "zero_optimization.zero_hpz_partition_size",
        "zero_optimization.zero_quantized_weights",
        "zero_optimization.zero_quantized_gradients",
        "zero_optimization.sub_group_size",
        "zero_optimization.elastic_checkpoint",
        "zero_optimization.ignore_unused_parameters",
        "zero_optimization.log_trace_cache_warnings",
        "zero_optimization.cpu_offload",
        "zero_optimization.zenflow",
        "zero_optimization.mics_shard_size",
        "zero_allow_untested_optimizer",
        "zero_force_ds_cpu_optimizer",
        "aio.block_size",
        "aio.queue_depth",
        "aio.thread_count",
        "aio.single_submit",
        "aio.overlap_events",
        "steps_per_print",
        "wall_clock_breakdown",
        "dump_state",
        "autotuning.enabled",
        "autotuning.tuner_type",
        "autotuning.mp_size",
        "flops_profiler.enabled",
        "flops_profiler.profile_step",
        "flops_profiler.module_depth",
        "flops_profiler.top_modules",
        "flops_profiler.detailed",
        "flops_profiler.output_file",
        "activation_checkpointing.partition_activations",
        "activation_checkpointing.cpu_checkpointing",
        "activation_checkpointing.contiguous_memory_optimization",
        "activation_checkpointing.number_checkpoints",
        "activation_checkpointing.synchronize_checkpoint_boundary",
        "activation_checkpointing.profile",
        "sparse_attention",
        "data_efficiency.enabled",
        "data_efficiency.data_routing.random_ltd.random_ltd_schedule",
        "data_efficiency.data_sampling.curriculum_learning.curriculum_metrics",
        "curriculum_learning.enabled",
        "curriculum_learning.curriculum_type",
        "curriculum_learning.schedule_config",
        "tensorboard.enabled",
        "tensorboard.job_name",
        "wandb.project",
        "comet.workspace",
        "csv_monitor.output_path",
        "elasticity.enabled",
        "elasticity.micro_batch_sizes",
        "elasticity.prefer_large_batch",
        "comms_logger.prof_ops",
        "compression_training.layer_reduction.enabled",
        "compression_training.weight_quantization.shared_parameters.quantize_weight_in_forward",
        "compression_training.channel_pruning.different_groups",
        "checkpoint.tag_validation",
        "checkpoint.load_universal",
        "checkpoint.use_node_local_storage",
        "checkpoint.parallel_write.pipeline_stage",
        "compile.deepcompile",
        "compile.passes",
        "data_types.grad_accum_dtype",
        "tensor_parallel.autotp_size",
        "expert_parallel.autoep_size",
        "hybrid_engine.enabled",
        "eigenvalue.enabled",
        "progressive_layer_drop.theta",
        "quantize_training.enabled",
        "pipeline.stages",
        "pipeline.seed_layers",
        "disable_allgather",
        "memory_breakdown",
        "graph_harvesting",
        "use_data_before_expert_parallelism",
        "timers.throughput.enabled",
        "nebula.enabled",
        "weight_quantization",
        "dataloader_drop_last",
        "vocabulary_size"})
    EXPECT_NE(table.find(path), nullptr) << path;
}

}  // namespace
}  // namespace triax
