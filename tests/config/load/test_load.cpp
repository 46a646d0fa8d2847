// SPDX-License-Identifier: Apache-2.0
#include "src/config/load/load.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "src/config/keys/key_table.hpp"
#include "src/config/outputs.hpp"
#include "src/config/source/json_lines.hpp"
#include "tests/config/job_files.hpp"
#include "tests/config/model_texts.hpp"
#include "tests/config/same_config.hpp"

namespace triax {
namespace {
using nlohmann::json;
using testing::HasSubstr;

class Load : public testing_support::JobFiles {};

// The whole file that Hugging Face's documentation shows for its Trainer.
const char* const trainer_file = R"({
    "fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1},
    "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": "auto", "warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto"}},
    "zero_optimization": {
        "stage": 1, "allgather_partitions": true, "allgather_bucket_size": 2e8, "overlap_comm": true, "reduce_scatter": true,
        "reduce_bucket_size": "auto", "contiguous_gradients": true, "round_robin_gradients": true,
        "offload_optimizer": {"device": "none", "pin_memory": true},
        "sub_group_size": 1e9, "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
        "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": true
    },
    "aio": {"block_size": 1048576, "queue_depth": 8, "thread_count": 1, "single_submit": false, "overlap_events": true},
    "activation_checkpointing": {"partition_activations": false, "cpu_checkpointing": false, "contiguous_memory_optimization": false, "number_checkpoints": null},
    "flops_profiler": {"enabled": false, "profile_step": 1, "module_depth": -1, "top_modules": 1, "detailed": true, "output_file": null},
    "communication_data_type": "fp32", "prescale_gradients": false,
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "steps_per_print": 2000,
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "wall_clock_breakdown": false
})";

TEST_F(Load, ADeepSpeedFileWorksAsItIs) {
  write("ds_config.json", trainer_file);
  const auto job = load_job(this->job(R"(, "extends": "ds_config.json")"), {}, 2);
  EXPECT_EQ(job.config.zero.stage, 1);
  EXPECT_EQ(job.config.steps_per_print, 2000);
  EXPECT_EQ(job.config.gradient_clipping, 1.0);
  EXPECT_EQ(job.config.batch.global, 2);
  EXPECT_EQ(job.config.scheduler.type, "WarmupDecayLR");
  EXPECT_EQ(job.config.scheduler.numbers.at("total_num_steps"), 100);
  EXPECT_EQ(job.config.recompute.what, Recompute::none);
  EXPECT_THAT(job.accepted,
              testing::IsSupersetOf({"zero_optimization.contiguous_gradients", "aio.thread_count",
                                     "zero_optimization.stage3_max_reuse_distance",
                                     "wall_clock_breakdown"}));
  for (const char* obeyed :
       {"zero_optimization.stage", "zero_optimization.overlap_comm",
        "zero_optimization.reduce_bucket_size", "zero_optimization.stage3_prefetch_bucket_size",
        "zero_optimization.allgather_bucket_size", "zero_optimization.round_robin_gradients",
        "zero_optimization.stage3_param_persistence_threshold",
        "zero_optimization.stage3_max_live_parameters", "fp16.loss_scale", "bf16.enabled"})
    EXPECT_THAT(job.accepted, testing::Not(testing::Contains(obeyed)));
}

TEST_F(Load, AnExportAtTheEndHasThreeNames) {
  EXPECT_FALSE(config("").checkpoint.export_at_end);
  for (const char* name :
       {"stage3_gather_16bit_weights_on_model_save", "gather_16bit_weights_on_model_save",
        "stage3_gather_fp16_weights_on_model_save"})
    EXPECT_TRUE(config(fmt::format(R"(, "zero_optimization": {{"{}": true}})", name))
                    .checkpoint.export_at_end)
        << name;
}

TEST_F(Load, FeaturesThatAreNotBuiltAreRefusedByName) {
  EXPECT_THAT(error(R"(, "zero_optimization": {"stage": 4})"), HasSubstr("4 is not allowed"));
  EXPECT_THAT(error(R"(, "amp": {"enabled": true, "opt_level": "O1"})"),
              HasSubstr("amp.enabled: true is refused"));
  for (const auto* more :
       {R"("lora": {"lora_bias": true})", R"("zero_optimization": {"zenflow": {}})"})
    EXPECT_THAT(error_of(write("more.json", std::string("{\"extends\": \"") +
                                                std::filesystem::path(job()).filename().string() +
                                                "\", " + more + "}")),
                HasSubstr("not built yet"))
        << more;
  EXPECT_THAT(error(R"(, "amp": {"enabled": true, "opt_level": "O1"})"),
              HasSubstr("amp.enabled: true is refused (PyTorch's own; bf16 and fp16 are"));
  for (const auto* more :
       {R"("sparse_attention": {"mode": "fixed", "block": 16})",
        R"("curriculum_learning": {"enabled": true})",
        R"("progressive_layer_drop": {"enabled": true, "theta": 0.5})",
        R"("data_efficiency": {"enabled": true})",
        R"("compression_training": {"row_pruning": {"shared_parameters": {"enabled": true}}})",
        R"("elasticity": {"enabled": true})", R"("gradient_allreduce_op": "sum")",
        R"("tensor_parallel": {"autotp_size": 4})"})
    EXPECT_NE(error(std::string(", ") + more), "") << more;
  EXPECT_THAT(error(R"(, "autotuning": {"enabled": true, "fast": true})"),
              HasSubstr("autotuning.enabled: true is refused (there is no autotuner; set "
                        "train_micro_batch_size_per_gpu and zero_optimization.stage yourself)"))
      << "DeepSpeed's would choose the batch";
}

TEST_F(Load, MonitorsAreAcceptedWithALine) {
  for (const char* monitor : {"csv_monitor", "comet"})
    EXPECT_THAT(
        load_job(job(fmt::format(R"(, "{}": {{"enabled": true}})", monitor)), {}, 1).accepted,
        testing::ElementsAre(std::string(monitor) + ".enabled"));
}

TEST_F(Load, TensorBoardHasTwoNames) {
  const auto outputs = [&](const char* more) {
    return output_config(load_job(job(more), {}, 1).resolved);
  };
  EXPECT_EQ(outputs(""), OutputConfig{});
  EXPECT_TRUE(outputs(R"(, "run": {"tensorboard": true})").tensorboard);
  EXPECT_TRUE(outputs(R"(, "tensorboard": {"enabled": true, "job_name": "a"})").tensorboard);
  EXPECT_EQ(outputs(R"(, "run": {"openmetrics": "a.prom"})").openmetrics, "a.prom");
}

TEST_F(Load, WeightsAndBiasesIsRefusedWithWhatToUse) {
  EXPECT_THAT(error(R"(, "wandb": {"enabled": true})"), HasSubstr("Set run.tensorboard"));
}

TEST_F(Load, StepsToTraceAreARange) {
  EXPECT_EQ(
      output_config(load_job(job(R"(, "run": {"trace_steps": [10, 12]})"), {}, 1).resolved).trace,
      (TraceSteps{10, 12}));
  for (const char* wrong :
       {"[]", "[3]", "[3, 3]", "[4, 3]", "[-1, 3]", "[1.5, 3]", "[0, 101]", "[1, 2, 3]"})
    EXPECT_THAT(error(fmt::format(R"(, "run": {{"trace_steps": {}}})", wrong)),
                HasSubstr("run.trace_steps: "))
        << wrong;
  EXPECT_THAT(error(R"(, "run": {"trace_steps": [8, 9], "steps": 8})"),
              HasSubstr("[8,9] traces nothing: run.steps is 8"));
}

TEST_F(Load, ZeroIsRead) {
  const ZeroConfig usual = config(R"(, "zero_optimization": {"stage": 3})").zero;
  EXPECT_EQ(usual.stage, 3);
  EXPECT_TRUE(usual.overlap);
  EXPECT_EQ(usual.reduce_bucket_size, 500'000'000);
  EXPECT_EQ(usual.prefetch_bucket_size, 50'000'000);
  EXPECT_EQ(usual.persistence_threshold, 100'000);
  EXPECT_EQ(usual.max_live_parameters, 1'000'000'000);
  const ZeroConfig own = config(R"(, "zero_optimization": {"stage": 2, "overlap_comm": false,
      "reduce_bucket_size": 5e7, "stage3_prefetch_bucket_size": 0,
      "stage3_param_persistence_threshold": 10, "max_live_parameters": 1e6})")
                             .zero;
  EXPECT_EQ(own.stage, 2);
  EXPECT_FALSE(own.overlap);
  EXPECT_EQ(own.reduce_bucket_size, 50'000'000);
  EXPECT_EQ(own.prefetch_bucket_size, 0);
  EXPECT_EQ(own.persistence_threshold, 10);
  EXPECT_EQ(own.max_live_parameters, 1'000'000);
}

TEST_F(Load, DisabledFeaturesAreFine) {
  EXPECT_EQ(
      error(
          R"(, "bf16": {"enabled": false}, "fp16": {"enabled": false, "loss_scale": 0}, "amp": {"enabled": false, "opt_level": "O1"}, "lora": null,
    "run": {"tensorboard": false, "trace_steps": null}, "wandb": {"enabled": false}, "curriculum_learning": {"enabled": false, "curriculum_type": "seqlen"},
    "zero_optimization": false, "sparse_attention": null, "elasticity": {"enabled": false, "max_train_batch_size": 2000, "micro_batch_sizes": [2, 4, 6]},
    "checkpoint": {"tag_validation": "Ignore", "parallel_write": {"pipeline_stage": true}, "keep": 2}, "autotuning": {"enabled": false, "arg_mappings": {"a": "--b"}},
    "weight_quantization": {}, "sequence_parallel_size": 1, "steps_per_print": "auto")"),
      "");
  EXPECT_THAT(error(R"(, "sequence_parallel_size": 2)"), HasSubstr("2 is refused (not built;"));
  EXPECT_EQ(
      config(R"(, "zero_optimization": {"stage": 3, "offload_param": {"buffer_size": "auto"}})")
          .zero.offload_param.buffer_size,
      100'000'000);
}

TEST_F(Load, ReportsAllErrorsTogetherInTheOrderOfTheFile) {
  const auto file = write("bad.json", R"({
  "model": {"architecture": "gpt2", "n_head": 4, "n_embd": 62},
  "data": {"train": "missing.txt"},
  "parallel": {"tensro": 2,
               "pipeline": 3, "pipeline.stages": 2},
  "train_batch_size": "many", "dump_state": true, "dump_state": true,
  "zero_optimization": 7,
  "tensor": 2
})");
  EXPECT_EQ(error_of(file, 8),
            "bad.json:2: model.n_embd: 62 is not a multiple of model.n_head 4\n"
            "bad.json:3: data.train: no such file: missing.txt\n"
            "bad.json:4: parallel.tensro: unknown key (nearest: parallel.tensor)\n"
            "bad.json:5: parallel.pipeline.stages: unknown key. Write nested objects, {\"a\": "
            "{\"b\": ...}}, for a.b\n"
            "bad.json:5: parallel.pipeline: tensor 1 x pipeline 3 = 3 does not divide the job's 8 "
            "ranks. For example tensor 1, pipeline 4, data 2, or start a multiple of 3 ranks "
            "(mpiexec -n 3)\n"
            "bad.json:6: dump_state: written twice in this object\n"
            "bad.json:6: train_batch_size: expected integer or \"auto\", got \"many\"\n"
            "bad.json:7: zero_optimization: expected an object, got 7\n"
            "bad.json:8: tensor: unknown key (nearest: parallel.tensor)");
}

TEST_F(Load, OverridesComeLast) {
  const auto c = config(R"(, "run": {"steps": 5})", 4,
                        {"run.steps=7", "parallel.tensor=2", "parallel.schedule=gpipe"});
  EXPECT_EQ(c.run.steps, 7);
  EXPECT_EQ(c.parallel.tensor, 2);
  EXPECT_EQ(c.parallel.schedule, "gpipe");
  EXPECT_THAT(error("", 1, {"parallel.tensro=2"}),
              testing::StrEq("--set: parallel.tensro: unknown key (nearest: parallel.tensor)"));
}

TEST_F(Load, TheResolvedJobLoadsToTheSameConfig) {
  write(
      "hf/config.json",
      R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 4, "vocab_size": 300, "rms_norm_eps": 1e-05})");
  write("hf/model.safetensors", "x");
  write("ds_config.json", trainer_file);
  const std::string rest =
      R"(, "data": {"train": ["*.txt"], "valid": "text.txt", "seed": 9}, "run": {"steps": 31, "eval_interval": 2, "peak_flops": 1.1e11})";
  for (
      const std::string& more :
      {std::string(
           R"("model": {"from": "hf"}, "data": {"train": "text.txt", "tokenizer": "bytes"})"),
       R"("model": {"config": "hf/config.json", "attention_dropout": 0.1})" + rest,
       R"("model": {"architecture": "gpt2", "resid_pdrop": 0.3, "n_head": 6}, "extends": "ds_config.json")" +
           rest,
       R"("model": {"model_type": "qwen2"}, "pipeline": {"activation_checkpoint_interval": 1}, "scheduler": {"type": "OneCycle", "params": {"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-3}})" +
           rest,
       R"("model": {"architecture": "gpt2"}, "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"}, "zero_optimization": {"stage": 3, "param_persistence_threshold": 5})" +
           rest,
       R"("model": {"architecture": "gpt2"}, "fp16": {"enabled": true, "hysteresis": 5}, "zero_optimization": {"stage": 2, "overlap_comm": false})" +
           rest,
       R"("model": {"architecture": "gpt2"}, "scheduler": {"type": "cosine", "params": {"warmup": 3, "min_lr": 1e-5}}, "amp": {"enabled": false, "opt_level": "O2"})" +
           rest,
       R"("model": {"architecture": "gpt2"}, "scheduler": {"type": "warmup_stable_decay", "params": {"num_decay_steps": 7, "decay_type": "1-sqrt"}})" +
           rest,
       R"("model": {"architecture": "gpt2"}, "checkpoint": {"interval": 5})" + rest,
       R"("model": {"architecture": "gpt2"}, "checkpoint": {"interval": 5, "collective": "auto"})" +
           rest,
       R"("model": {"architecture": "gpt2"}, "bf16": {"enabled": true}, "fp8": {"enabled": true})" +
           rest,
       R"("model": {"architecture": "gpt2"}, "checkpoint": {"interval": 5, "async": true})" +
           rest}) {
    const auto first = load_job(write("job.json", "{" + more + "}"),
                                {"parallel.tensor=2", "train_batch_size=12"}, 4);
    const auto again = load_job(write("elsewhere/job.json", first.resolved), {}, 4);
    EXPECT_TRUE(testing_support::same(first.config, again.config))
        << first.resolved << again.resolved;
    EXPECT_EQ(first.resolved, again.resolved);
    EXPECT_EQ(first.accepted, again.accepted);
  }
}

TEST_F(Load, TheResolvedJobHasNoAutoAndEveryDefault) {
  write("ds_config.json", trainer_file);
  const auto job =
      json::parse(load_job(this->job(R"(, "extends": "ds_config.json")"), {}, 2).resolved);
  EXPECT_EQ(job["parallel"]["data"], 2);
  EXPECT_EQ(job["train_micro_batch_size_per_gpu"], 1);
  EXPECT_EQ(job["run"]["steps"], 100);
  EXPECT_EQ(job["model"]["n_inner"], 256);
  EXPECT_EQ(job["optimizer"]["params"]["lr"], 5e-5);
  EXPECT_EQ(job["scheduler"]["params"]["warmup_type"], "log");
  EXPECT_EQ(job["data"]["train"].size(), 1U);
  EXPECT_FALSE(job.contains("extends"));
}

TEST_F(Load, WhatJobJsonAddsIsNotRead) {
  EXPECT_EQ(error(R"(, "triax": {"version": "0.1.0", "grid": [1, 2, 3], "hosts": ["a"]})"), "");
}

TEST_F(Load, TheExampleJobsLoad) {
  write("hf/config.json", testing_support::with_sizes(R"({"model_type": "gpt2"})"));
  write("hf/model.safetensors", "x");
  write("tokens.bin", "x");
  int jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TRIAX_SOURCE_DIR "/jobs/examples")) {
    if (entry.path().extension() != ".json") continue;
    ++jobs;
    std::vector<std::string> set = {"data.train=" + path("tokens.bin"),
                                    "data.valid=" + path("tokens.bin")};
    if (read_text(entry.path().string()).find("\"from\"") != std::string::npos)
      set.insert(set.end(), {"model.from=" + path("hf"), "data.seq_length=64"});
    EXPECT_EQ(error_of(entry.path().string(), 4, set), "") << entry.path();
  }
  EXPECT_GE(jobs, 1);
}

// Any value of an obeyed key gives a Config or a UsageError, nothing else.
TEST_F(Load, NoValueOfAnyKeyIsTooMuch) {
  const auto file = job();
  const KeyTable table;
  for (const auto& key : table.keys()) {
    if (key.treatment != Treatment::obeyed) continue;
    for (const auto* value :
         {"null", "true", "-1", "0", "2", "1e300", "text", "[1]", "{\"a\": {}}"}) {
      EXPECT_NO_THROW(error_of(file, 4, {key.path + "=" + value})) << key.path << "=" << value;
    }
  }
}

}  // namespace
}  // namespace triax
