// SPDX-License-Identifier: Apache-2.0
// Each row of the table: what the key becomes, that it is named where it has no effect, and that it
// is refused by name.
#include "src/axolotl/axolotl_keys.hpp"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <set>

#include "tests/axolotl/axolotl_files.hpp"

namespace triax {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// Lines of a file that hold a key, and what they become: the key of the job and its value. No key:
// the lines ask for nothing.
struct Case {
  const char* name;
  std::string lines;
  const char* key;
  json value;
};

const std::string dataset = "datasets:\n  - path: chat.jsonl\n    type: chat_template\n    ";
const std::string dpo = "rl: dpo\n", simpo = "rl: simpo\ncpo_alpha: 0\n";

std::vector<Case> model_cases() {
  const std::string lora = "adapter: lora\nlora_r: 4\nlora_alpha: 8\n";
  const std::string qlora = "adapter: qlora\nload_in_4bit: true\nlora_r: 4\nlora_alpha: 8\n";
  return {
      {"base_model", "", "model.from", "hf"},
      {"rope_scaling",
       "rope_scaling: {rope_type: linear, factor: 2.0}",
       "model.rope_scaling",
       {{"rope_type", "linear"}, {"factor", 2.0}}},
      {"unfrozen_parameters",
       "unfrozen_parameters: ['^lm_head.weight$', 'model\\.layers.1.*', emb]",
       "train_only",
       {"lm_head.weight", "model.layers.1*", "emb*"}},
      {"load_in_8bit", lora + "load_in_8bit: true", "model.quantize", "int8"},
      {"load_in_4bit", qlora, "model.quantize", "nf4-double"},
      {"bnb_config_kwargs", qlora + "bnb_config_kwargs: {bnb_4bit_compute_dtype: bfloat16}",
       "model.quantize", "nf4-double"},
      {"bnb_config_kwargs.bnb_4bit_use_double_quant",
       qlora + "bnb_config_kwargs: {bnb_4bit_use_double_quant: false}", "model.quantize", "nf4"},
      {"bnb_config_kwargs.bnb_4bit_quant_type",
       qlora + "bnb_config_kwargs: {bnb_4bit_quant_type: nf4}", "model.quantize", "nf4-double"},
      {"adapter", lora, "lora.r", 4},
      {"lora_r", lora, "lora.r", 4},
      {"lora_alpha", lora, "lora.lora_alpha", 8},
      {"lora_dropout", lora + "lora_dropout: 0.05", "lora.lora_dropout", 0.05},
      {"lora_target_modules",
       lora + "lora_target_modules: [q_proj, v_proj]",
       "lora.target_modules",
       {"q_proj", "v_proj"}},
      {"lora_target_linear", lora + "lora_target_linear: true\nlora_target_modules: [q_proj]",
       "lora.target_modules", "all-linear"},
      {"lora_modules_to_save",
       lora + "lora_modules_to_save: [lm_head]",
       "lora.modules_to_save",
       {"lm_head"}},
      {"lora_rank_pattern",
       lora + "lora_rank_pattern: {q_proj: 8}",
       "lora.rank_pattern",
       {{"q_proj", 8}}},
      {"lora_alpha_pattern",
       lora + "lora_alpha_pattern: {q_proj: 8}",
       "lora.alpha_pattern",
       {{"q_proj", 8}}},
      {"lora_model_dir", "adapter: lora\nlora_model_dir: out/adapter", "lora.adapter",
       "out/adapter"},
      {"peft_use_rslora", lora + "peft_use_rslora: true", "lora.use_rslora", true},
      {"peft_use_dora", lora + "peft_use_dora: true", "lora.use_dora", true},
      {"peft_layers_to_transform",
       lora + "peft_layers_to_transform: [0, 1]",
       "lora.layers_to_transform",
       {0, 1}},
      {"peft_layers_pattern", lora + "peft_layers_pattern: layers", "lora.layers_pattern",
       "layers"},
      {"peft_init_lora_weights", lora + "peft_init_lora_weights: gaussian",
       "lora.init_lora_weights", "gaussian"},
      {"loraplus_lr_ratio", "loraplus_lr_ratio: 16", "optimizer.groups",
       json::array({{{"match", "*.lora_B.weight"}, {"lr", 16e-4}}})},
      {"tokenizer_config", "tokenizer_config: hf/tokenizer_config.json", "data.tokenizer",
       "hf/tokenizer_config.json"},
      {"special_tokens", "special_tokens: {eos_token: </s>, bos_token: <s>, pad_token: x}", "", {}},
      {"chat_template", "chat_template: tokenizer_default", "", {}},
      {"chat_template", "chat_template: chatml", "data.template", "chatml"},
      {"chat_template_jinja", "chat_template: jinja\nchat_template_jinja: template.jinja",
       "data.template", "template.jinja"},
      {"plugins", "plugins:\n  - axolotl.integrations.liger.LigerPlugin", "", {}},
  };
}

std::vector<Case> training_cases() {
  return {
      {"micro_batch_size", "micro_batch_size: 2", "train_micro_batch_size_per_gpu", 2},
      {"gradient_accumulation_steps", "gradient_accumulation_steps: 4",
       "gradient_accumulation_steps", 4},
      {"batch_size", "batch_size: 8\nmicro_batch_size: 2", "gradient_accumulation_steps", 4},
      {"num_epochs", "num_epochs: 3", "run.epochs", 3},
      {"max_steps", "max_steps: 50\nnum_epochs: 3", "run.steps", 50},
      {"learning_rate", "", "optimizer.params.lr", 1e-4},
      {"lr_scheduler", "lr_scheduler: linear", "scheduler.type", "linear"},
      {"lr_scheduler_kwargs", "lr_scheduler: polynomial\nlr_scheduler_kwargs: {power: 2}",
       "scheduler.params.power", 2},
      {"cosine_min_lr_ratio", "cosine_min_lr_ratio: 0.1", "scheduler.params.min_lr_rate", 0.1},
      {"warmup_steps", "warmup_steps: 10\nwarmup_ratio: 0.5", "scheduler.params.num_warmup_steps",
       10},
      {"warmup_ratio", "warmup_ratio: 0.1", "scheduler.params.num_warmup_steps", 0.1},
      {"optimizer", "optimizer: adamw_bnb_8bit", "optimizer.type", "AdamW8bit"},
      {"weight_decay", "weight_decay: 0.01", "optimizer.params.weight_decay", 0.01},
      {"adam_beta1", "adam_beta1: 0.8", "optimizer.params.betas", {0.8, 0.999}},
      {"adam_beta2", "adam_beta2: 0.95", "optimizer.params.betas", {0.9, 0.95}},
      {"adam_epsilon", "adam_epsilon: 1e-6", "optimizer.params.eps", 1e-6},
      {"max_grad_norm", "max_grad_norm: 0.5", "gradient_clipping", 0.5},
      {"seed", "seed: 7", "data.seed", 7},
      {"bf16", "bf16: false", "bf16.enabled", false},
      {"bfloat16", "bfloat16: true", "bf16.enabled", true},
      {"fp16", "fp16: true", "fp16.enabled", true},
      {"float16", "float16: true", "fp16.enabled", true},
      {"fp8", "fp8: true", "fp8.enabled", true},
      {"save_steps", "save_steps: 100", "checkpoint.interval", 100},
      {"saves_per_epoch", "saves_per_epoch: 2\nnum_epochs: 2", "checkpoint.interval", 0.25},
      {"save_strategy", "save_strategy: best", "checkpoint.keep_best", true},
      {"save_total_limit", "save_total_limit: 2", "checkpoint.keep", 2},
      {"early_stopping_patience", "early_stopping_patience: 3", "run.early_stopping.patience", 3},
      {"load_best_model_at_end", "load_best_model_at_end: true", "checkpoint.keep_best", true},
      {"metric_for_best_model", "metric_for_best_model: eval_loss", "", {}},
      {"greater_is_better", "greater_is_better: false", "", {}},
      {"output_dir", "output_dir: ./outputs/x", "run.directory", "./outputs/x"},
      {"resume_from_checkpoint", "resume_from_checkpoint: a.h5", "checkpoint.resume", "a.h5"},
      {"auto_resume_from_checkpoints", "auto_resume_from_checkpoints: false", "checkpoint.resume",
       "never"},
      {"logging_steps", "logging_steps: 5", "steps_per_print", 5},
      {"eval_steps", "eval_steps: 20\ntest_datasets: [{path: chat.jsonl}]", "run.eval_interval",
       20},
      {"evals_per_epoch", "evals_per_epoch: 4\ntest_datasets: [{path: chat.jsonl}]",
       "run.eval_interval", 0.25},
      {"eval_strategy", "eval_strategy: epoch\nnum_epochs: 4\ntest_datasets: [{path: chat.jsonl}]",
       "run.eval_interval", 0.25},
      {"evaluation_strategy", "evaluation_strategy: steps\ntest_datasets: [{path: chat.jsonl}]",
       "run.eval_interval", 500},
      {"gradient_checkpointing", "gradient_checkpointing: offload",
       "activation_checkpointing.cpu_checkpointing", true},
      {"deepspeed", "deepspeed: {zero_optimization: {stage: 2}}", "zero_optimization.stage", 2},
      {"fsdp", "fsdp: [full_shard, auto_wrap]", "zero_optimization.stage", 3},
      {"fsdp_config", "fsdp_config: {fsdp_offload_params: true}",
       "zero_optimization.offload_param.device", "cpu"},
      {"tensor_parallel_size", "tensor_parallel_size: 2", "parallel.tensor", 2},
      {"fsdp_config.activation_checkpointing", "fsdp_config: {activation_checkpointing: true}",
       "pipeline.activation_checkpoint_interval", 1},
      {"fsdp_config.offload_params", "fsdp_config: {offload_params: true}",
       "zero_optimization.offload_optimizer.device", "cpu"},
      {"fsdp_config.limit_all_gathers", "fsdp_config: {fsdp_limit_all_gathers: false}",
       "fsdp.limit_all_gathers", false},
      {"fsdp_config.reshard_after_forward", "fsdp_config: {reshard_after_forward: false}",
       "zero_optimization.stage", 2},
      {"fsdp_config.sharding_strategy", "fsdp_config: {fsdp_sharding_strategy: SHARD_GRAD_OP}",
       "fsdp.sharding_strategy", "SHARD_GRAD_OP"},
  };
}

std::vector<Case> data_cases() {
  return {
      {"datasets", "", "data.train", {"chat.jsonl"}},
      {"test_datasets",
       "test_datasets: [{path: chat.jsonl, type: chat_template}]",
       "data.valid",
       {"chat.jsonl"}},
      {"sequence_len", "sequence_len: 2048", "data.seq_length", 2048},
      {"excess_length_strategy", "excess_length_strategy: truncate", "", {}},
      {"shuffle_merged_datasets", "shuffle_merged_datasets: false", "data.shuffle", false},
      {"train_on_inputs", "train_on_inputs: true", "data.train_on", "all"},
      {"sample_packing", "sample_packing: true", "data.packing", true},
      {"rl", dpo, "loss.type", "dpo"},
      {"rl_beta", dpo + "rl_beta: 0.3", "loss.beta", 0.3},
      {"dpo_beta", dpo + "dpo_beta: 0.3", "loss.beta", 0.3},
      {"dpo_loss_type", dpo + "dpo_loss_type: [sigmoid]", "loss.type", "dpo"},
      {"dpo_label_smoothing", dpo + "dpo_label_smoothing: 0.1", "loss.label_smoothing", 0.1},
      {"orpo_alpha", "rl: orpo\norpo_alpha: 0.2", "loss.beta", 0.2},
      {"simpo_gamma", simpo + "simpo_gamma: 0.7", "loss.simpo_gamma", 0.7},
      {"cpo_alpha", "rl: simpo\ncpo_alpha: 0.3", "loss.chosen_weight", 0.3},
      {"rpo_alpha", dpo + "rpo_alpha: 0.5", "loss.chosen_weight", 0.5},
      {"neftune_noise_alpha", "neftune_noise_alpha: 5", "neftune_noise_alpha", 5.0},
      {"noisy_embedding_alpha", "noisy_embedding_alpha: 5", "neftune_noise_alpha", 5.0},
      {"val_set_size", "val_set_size: 0.05", "data.validation_fraction", 0.05},
      {"use_tensorboard", "use_tensorboard: true", "run.tensorboard", true},
      {"datasets.path", "", "data.train", {"chat.jsonl"}},
      {"datasets.data_files",
       "datasets: [{path: json, data_files: [chat.jsonl]}]",
       "data.train",
       {"chat.jsonl"}},
      {"datasets.type", "datasets: [{path: chat.jsonl, type: alpaca}]", "data.format",
       "instruction"},
      {"datasets.ds_type", dataset + "ds_type: json", "", {}},
      {"datasets.split", dataset + "split: train[:10%]", "data.train_rows", ":10%"},
      {"datasets.field",
       "datasets: [{path: chat.jsonl, type: completion, field: body}]",
       "data.fields",
       {{"completion", "body"}, {"prompt", ""}}},
      {"datasets.field_messages",
       dataset + "field_messages: turns",
       "data.fields",
       {{"messages", "turns"}}},
      {"datasets.field_tools",
       dataset + "field_tools: functions",
       "data.fields",
       {{"tools", "functions"}}},
      {"datasets.field_chosen",
       dpo + dataset + "field_chosen: good",
       "data.fields",
       {{"chosen", "good"}, {"prompt", "messages"}}},
      {"datasets.field_rejected",
       dpo +
           "datasets: [{path: chat.jsonl, type: chat_template.argilla_chat, field_rejected: bad}]",
       "data.fields",
       {{"rejected", "bad"}}},
      {"datasets.message_property_mappings",
       dataset + "message_property_mappings: {role: from, content: value}",
       "data.fields",
       {{"role", "from"}, {"content", "value"}}},
      {"datasets.message_field_role",
       dataset + "message_field_role: from",
       "data.fields",
       {{"role", "from"}}},
      {"datasets.message_field_content",
       dataset + "message_field_content: value",
       "data.fields",
       {{"content", "value"}}},
      {"datasets.roles",
       dataset + "roles: {assistant: [assistant, bot], user: [human]}",
       "data.roles",
       {{"bot", "assistant"}, {"human", "user"}}},
      {"datasets.roles_to_train", dataset + "roles_to_train: [assistant]", "", {}},
      {"datasets.train_on_eos", dataset + "train_on_eos: turn", "", {}},
      {"datasets.train_on_eot", dataset + "train_on_eot: turn", "", {}},
      {"datasets.chat_template",
       dataset + "chat_template: tokenizer_default_fallback_chatml",
       "",
       {}},
      {"datasets.chat_template_jinja", dataset + "chat_template_jinja: template.jinja",
       "data.template", "template.jinja"},
      {"datasets.field_thinking", dataset + "field_thinking: thinking", "", {}},
      {"datasets.template_thinking_key",
       dataset + "template_thinking_key: reasoning_content",
       "",
       {}},
      {"special_tokens.bos_token", "special_tokens: {bos_token: <s>}", "", {}},
      {"special_tokens.eos_token", "special_tokens: {eos_token: </s>}", "", {}},
      {"special_tokens.unk_token", "special_tokens: {unk_token: ''}", "", {}},
  };
}

std::vector<Case> cases() {
  std::vector<Case> all = model_cases();
  for (auto* more : {training_cases, data_cases})
    for (Case& each : more()) all.push_back(std::move(each));
  return all;
}

const json* find(const json& job, std::string key) {
  std::ranges::replace(key, '.', '/');
  const json::json_pointer place("/" + key);
  return job.contains(place) ? &job[place] : nullptr;
}

// Lines with one key of a map.
std::string lines_of(const std::string& map, const std::string& name, const std::string& value) {
  if (map.empty()) return name + ": " + value + "\n";
  if (map == "datasets") return dataset + name + ": " + value + "\n";
  return map + ": {" + name + ": " + value + "}\n";
}

class AxolotlKeys : public testing_support::AxolotlFiles {};

TEST_F(AxolotlKeys, BecomeKeysOfTheJob) {
  const json without = job_of("");
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(refusal(one.lines), "");
    const json job = job_of(one.lines);
    const json* const value = *one.key == '\0' ? nullptr : find(job, one.key);
    if (*one.key == '\0') {
      EXPECT_EQ(job, without);
    } else {
      ASSERT_NE(value, nullptr) << job.dump(1);
      EXPECT_EQ(*value, one.value);
    }
  }
}

TEST_F(AxolotlKeys, EachRowThatBecomesSomethingHasACase) {
  std::set<std::string> tested, rows;
  for (const Case& one : cases()) tested.insert(one.name);
  for (const std::string& map : axolotl_maps())
    for (const AxolotlKey& key : axolotl_keys(map))
      if (key.use == AxolotlUse::becomes)
        rows.insert(map.empty() ? key.name : map + "." + key.name);
  EXPECT_EQ(tested, rows);
}

TEST_F(AxolotlKeys, WithoutEffectAreNamed) {
  for (const std::string& map : axolotl_maps())
    for (const AxolotlKey& key : axolotl_keys(map)) {
      if (key.use != AxolotlUse::without_effect) continue;
      std::vector<std::string> notes;
      const std::string lines = lines_of(map, key.name, "value");
      EXPECT_EQ(refusal(lines), "") << key.name;
      (void)job_of(lines, &notes);
      EXPECT_THAT(
          fmt::format("{}", fmt::join(notes, "\n")),
          AllOf(HasSubstr("without effect here"), HasSubstr(key.name), HasSubstr(key.text)));
    }
}

TEST_F(AxolotlKeys, ThatCannotBeObeyedAreRefused) {
  for (const std::string& map : axolotl_maps())
    for (const AxolotlKey& key : axolotl_keys(map)) {
      if (key.use != AxolotlUse::refused) continue;
      EXPECT_THAT(refusal(lines_of(map, key.name, "value")),
                  HasSubstr(std::string(key.name) + ": is refused: " + key.text));
      for (const char* nothing : {"null", "false", "0", "''", "[]", "{}"})
        EXPECT_EQ(refusal(lines_of(map, key.name, nothing)), "") << key.name << nothing;
      if (*key.neutral == '\0') continue;
      EXPECT_EQ(refusal(lines_of(map, key.name, key.neutral)), "") << key.name;
    }
}

TEST_F(AxolotlKeys, StandOnceInTheTable) {
  for (const std::string& map : axolotl_maps()) {
    std::set<std::string> names;
    for (const AxolotlKey& key : axolotl_keys(map))
      EXPECT_TRUE(names.insert(key.name).second) << key.name;
  }
}

TEST_F(AxolotlKeys, UnknownOnesAreErrorsWithTheNearest) {
  EXPECT_THAT(refusal("context_parapllel_size: 2\n"),
              HasSubstr("config.yml:6: context_parapllel_size: unknown key (nearest: "
                        "context_parallel_size)"));
  EXPECT_THAT(refusal(dataset + "field_mesages: x\n"),
              HasSubstr("datasets[0].field_mesages: unknown key (nearest: field_messages)"));
}

}  // namespace
}  // namespace triax
