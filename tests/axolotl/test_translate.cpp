// SPDX-License-Identifier: Apache-2.0
// Whole Axolotl files, in the style of Axolotl's examples.
#include "src/axolotl/translate.hpp"

#include <gmock/gmock.h>

#include "src/config/conversation.hpp"
#include "src/config/ending.hpp"
#include "tests/axolotl/axolotl_files.hpp"

namespace triax {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Translate : public testing_support::AxolotlFiles {
 protected:
  LoadedJob load(const std::string& text, const std::vector<std::string>& set = {}) const {
    return load_job(write("config.yml", text), set, 1);
  }
  // LoRA on conversations with ShareGPT's names.
  const std::string lora_ = R"(base_model: hf
model_type: LlamaForCausalLM
tokenizer_type: AutoTokenizer
# optionally might have model_type or tokenizer_type

load_in_8bit: false
load_in_4bit: false

chat_template: jinja
chat_template_jinja: template.jinja
datasets:
  - path: chat.jsonl
    type: chat_template
    split: train
    field_messages: conversations
    message_property_mappings:
      role: from
      content: value
    roles:
      assistant:
        - gpt
        - model
      user:
        - human
dataset_prepared_path: last_run_prepared
test_datasets:
  - path: chat.jsonl
    type: chat_template
    field_messages: conversations
    message_property_mappings: {role: from, content: value}
    roles: {assistant: [gpt, model], user: [human]}
output_dir: ./outputs/lora-out

adapter: lora
lora_model_dir:
sequence_len: 2048
lora_r: 16
lora_alpha: 32
lora_dropout: 0.05
lora_target_linear: true

gradient_accumulation_steps: 4
micro_batch_size: 2
num_epochs: 4
optimizer: adamw_bnb_8bit
lr_scheduler: cosine
learning_rate: 2e-4

bf16: auto
tf32: false
gradient_checkpointing: true
resume_from_checkpoint:
logging_steps: 1
attn_implementation: flash_attention_2
warmup_ratio: 0.1
evals_per_epoch: 4
saves_per_epoch: 1
weight_decay: 0.0
special_tokens:
  pad_token: <|end_of_text|>
wandb_project: mine
)";
};

TEST_F(Translate, LowRankAdaptersOnConversations) {
  const LoadedJob job = with_steps(load(lora_), 400);
  const Config& c = job.config;
  EXPECT_EQ(c.run.steps, 400);
  EXPECT_EQ(c.run.eval_interval, 25) << "1 / (4 x 4) of the run";
  EXPECT_EQ(c.checkpoint.interval, 100);
  EXPECT_EQ(c.checkpoint.keep, 4);
  EXPECT_TRUE(c.checkpoint.export_at_end);
  EXPECT_EQ(c.batch.micro, 2);
  EXPECT_EQ(c.batch.accumulation, 4);
  EXPECT_EQ(c.optimizer.type, "AdamW8bit");
  EXPECT_EQ(c.optimizer.learning_rate, 2e-4);
  EXPECT_EQ(c.gradient_clipping, 1.0);
  EXPECT_EQ(c.scheduler.type, "cosine_with_min_lr");
  EXPECT_EQ(c.scheduler.numbers.at("num_warmup_steps"), 40);
  EXPECT_EQ(c.precision.type, DType::bf16);
  EXPECT_EQ(c.recompute.what, Recompute::layer);
  EXPECT_EQ(c.data.sequence_length, 2048);
  EXPECT_EQ(c.data.seed, 42U);
  EXPECT_EQ(c.model.lora.modules.at("model.layers.0.mlp.up_proj").rank, 16);
  EXPECT_EQ(c.steps_per_print, 1);
  const ConversationConfig lines = conversation_config(job.resolved);
  EXPECT_EQ(lines.format, "chat");
  EXPECT_EQ(lines.fields.at("messages"), "conversations");
  EXPECT_EQ(lines.roles.at("model"), "assistant");
  EXPECT_EQ(lines.template_file, path("template.jinja"));
  EXPECT_THAT(job.warnings, testing::Contains(AllOf(
                                HasSubstr("config.yml: without effect here: model_type (line 2)"),
                                HasSubstr("wandb_project (line 61): a run writes metrics.jsonl"))));
}

// Keys as those of Axolotl's example for Llama 3 in 4 bits.
TEST_F(Translate, AdaptersOnABaseInFourBits) {
  const std::string yaml = R"(base_model: hf
load_in_4bit: true
adapter: qlora
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_target_linear: true
datasets:
  - path: chat.jsonl
    type: chat_template
learning_rate: 2e-4
bf16: auto
gradient_checkpointing: true
)";
  const LoadedJob job = load(yaml);
  EXPECT_EQ(job.config.model.kept.format, "nf4-double");
  EXPECT_EQ(job.config.model.kept.element_bytes, 2);
  EXPECT_EQ(job.config.model.lora.modules.at("model.layers.0.mlp.up_proj").rank, 32);
  EXPECT_EQ(load(yaml, {"model.quantize=nf4"}).config.model.kept.format, "nf4");
  const LoadedJob nested = load(yaml + "bnb_config_kwargs: {bnb_4bit_use_double_quant: true}\n");
  EXPECT_EQ(nested.config.model.kept.format, "nf4-double");
  for (const std::string& line : nested.warnings) EXPECT_THAT(line, Not(HasSubstr("bnb_config")));
  std::vector<std::string> missing;
  EXPECT_THAT(axolotl_job_text(write("config.yml", yaml), missing),
              HasSubstr("\"quantize\": \"nf4-double\"  // load_in_4bit, line 2"));
}

TEST_F(Translate, ABaseInFewBitsNeedsItsAdapters) {
  const std::string numbers = "lora_r: 4\nlora_alpha: 8\n";
  EXPECT_THAT(refusal("adapter: qlora\n" + numbers),
              HasSubstr("adapter: qlora trains on a base in 4 bits"));
  EXPECT_THAT(refusal("adapter: lora\nload_in_4bit: true\n" + numbers),
              HasSubstr("load_in_4bit: a base in 4 bits is that of qlora. Set adapter: qlora"));
  EXPECT_THAT(refusal("load_in_8bit: true\n"),
              HasSubstr("load_in_8bit: adapters alone are trained on a quantized base"));
  EXPECT_THAT(refusal("adapter: lora\nload_in_8bit: true\nload_in_4bit: true\n" + numbers),
              HasSubstr("load_in_8bit: load_in_4bit is on, too"));
  const std::string four = "adapter: qlora\nload_in_4bit: true\n" + numbers;
  EXPECT_THAT(refusal(four + "bnb_config_kwargs: {bnb_4bit_quant_type: fp4}\n"),
              HasSubstr("config.yml:10: bnb_config_kwargs.bnb_4bit_quant_type: \"fp4\" is not "
                        "built. Set it to nf4"));
  EXPECT_THAT(refusal(four + "bnb_config_kwargs: {bnb_4bit_use_doble_quant: true}\n"),
              HasSubstr("unknown key (nearest: bnb_4bit_use_double_quant)"));
}

TEST_F(Translate, AllWeightsWithDeepSpeed) {
  write("deepspeed_configs/zero2.json", R"({"zero_optimization": {"stage": 2, "overlap_comm": true},
      "bf16": {"enabled": "auto"}, "gradient_accumulation_steps": "auto",
      "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
      "gradient_clipping": "auto", "wall_clock_breakdown": false})");
  const LoadedJob job = load(R"(base_model: hf
datasets:
  - path: chat.jsonl
    type: alpaca
sequence_len: 1024
gradient_accumulation_steps: 2
micro_batch_size: 1
max_steps: 200
optimizer: adamw_torch_fused
adam_beta2: 0.95
learning_rate: 0.00001
lr_scheduler: constant_with_warmup
bf16: true
deepspeed: deepspeed_configs/zero2.json
)");
  const Config& c = job.config;
  EXPECT_EQ(c.zero.stage, 2);
  EXPECT_EQ(c.run.steps, 200);
  EXPECT_EQ(c.optimizer.beta2, 0.95);
  EXPECT_EQ(c.scheduler.numbers.at("num_warmup_steps"), 6) << "3% of the steps";
  EXPECT_EQ(c.checkpoint.interval, 0) << "one epoch: at the end";
  EXPECT_EQ(conversation_config(job.resolved).format, "instruction");
}

TEST_F(Translate, WholeTexts) {
  const LoadedJob job = load(R"(base_model: hf
datasets:
  - path: chat.jsonl
    type: completion
    field: body
learning_rate: 1e-5
fp16: true
bf16: false
val_set_size: 0.0
)");
  const ConversationConfig lines = conversation_config(job.resolved);
  EXPECT_EQ(lines.format, "completion");
  EXPECT_EQ(lines.fields.at("completion"), "body");
  EXPECT_EQ(lines.fields.at("prompt"), "");
  EXPECT_EQ(lines.train_on, "all");
  EXPECT_EQ(job.config.precision.type, DType::f16);
  EXPECT_EQ(job.config.data.sequence_length, 512) << "Axolotl's default";
  EXPECT_EQ(ending_config(job.resolved).epochs, 1.0);
}

TEST_F(Translate, AShareOfTheSamplesValidates) {
  const json job = job_of("val_set_size: 0.02\nevals_per_epoch: 2\nnum_epochs: 2\n");
  EXPECT_EQ(job.at("data").at("validation_fraction"), 0.02);
  EXPECT_EQ(job.at("run").at("eval_interval"), 0.25);
  EXPECT_EQ(job_of("val_set_size: 0.02\n").at("run").at("eval_interval"), 1'000'000)
      << "one epoch: at its end";
  EXPECT_EQ(job_of("val_set_size: 0.02\n").at("checkpoint").at("interval"), 0);
  EXPECT_FALSE(job_of("val_set_size: 0\n").at("data").contains("validation_fraction"));
  EXPECT_FALSE(job_of("val_set_size: 0\n").at("run").contains("eval_interval"));
  EXPECT_THAT(refusal("val_set_size: 100\n"),
              HasSubstr("config.yml:6: val_set_size: 100 is a number of samples"));
  write("hf/tokenizer.json", "{}");
  const std::string both = "val_set_size: 0.1\ntest_datasets:\n  - path: chat.jsonl\n";
  EXPECT_THAT(error_of(file(both)),
              HasSubstr("config.yml:6: data.validation_fraction: data.valid names validation"));
}

TEST_F(Translate, SlicesOfADataset) {
  const json data = job_of(
                        "datasets:\n  - {path: chat.jsonl, split: 'train[:90%]'}\n"
                        "test_datasets:\n  - {path: chat.jsonl, split: 'train[90%:]'}\n")
                        .at("data");
  EXPECT_EQ(data.at("train_rows"), ":90%");
  EXPECT_EQ(data.at("valid_rows"), "90%:");
  for (const char* whole : {"train", "train[:100%]", "train[:]"})
    EXPECT_FALSE(job_of(fmt::format("datasets: [{{path: chat.jsonl, split: '{}'}}]\n", whole))
                     .at("data")
                     .contains("train_rows"));
  for (const char* other : {"test", "train[10]", "train[:10%](closest)", "train[:5]+train[7:9]"})
    EXPECT_THAT(refusal(fmt::format("datasets: [{{path: chat.jsonl, split: '{}'}}]\n", other)),
                HasSubstr(" is no split of a file. Set it to train, or to a slice"));
  EXPECT_THAT(refusal("datasets: [{path: chat.jsonl, split: 'train[:5]'}, {path: chat.jsonl}]\n"),
              HasSubstr("datasets[0].split: a slice is taken of one dataset, and datasets has 2"));
}

// Rules about keys of the job name the line of the YAML file.
TEST_F(Translate, ErrorsOfTheJobHaveLinesOfTheFile) {
  EXPECT_THAT(error_of(file("num_epochs: -1\nsequence_len: 9000\nlora_dropout: 2\nadapter: lora\n"
                            "lora_r: 4\nlora_alpha: 8\n")),
              AllOf(HasSubstr("config.yml:6: run.epochs: -1 is not allowed"),
                    HasSubstr("config.yml:7: data.seq_length: 9000 is more than"),
                    HasSubstr("config.yml:8: lora.lora_dropout: 2 is not allowed")));
  EXPECT_EQ(error_of(file("num_epochs: 1\n"), 1, {"run.epochs=2"}), "") << "--set wins";
}

TEST_F(Translate, ValuesOfAnotherTypeAreErrors) {
  EXPECT_THAT(refusal("micro_batch_size: [2]\nlogging_steps: often\ngradient_checkpointing: 3\n"),
              AllOf(HasSubstr("config.yml:6: micro_batch_size: expected a number, got [2]"),
                    HasSubstr("logging_steps: expected a number, got \"often\""),
                    HasSubstr("gradient_checkpointing: expected true, false or offload")));
  EXPECT_THAT(refusal("datasets: chat.jsonl\n"),
              HasSubstr("datasets: expected a list of datasets"));
  EXPECT_THAT(refusal("datasets: [chat.jsonl]\n"),
              HasSubstr("datasets[0]: expected a map with path and type"));
  EXPECT_THAT(refusal("special_tokens: </s>\n"), HasSubstr("special_tokens: expected a map"));
  EXPECT_EQ(refusal("micro_batch_size: '2'\n"), "") << "as pydantic reads it";
}

// Names of the hub are no files of this machine.
TEST_F(Translate, NamesOnTheHubMustBeDownloadedFirst) {
  const std::string hub = write("hub.yml",
                                "base_model: NousResearch/Llama-3.2-1B\nlearning_rate: 1e-4\n"
                                "datasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\n");
  EXPECT_THAT(error_of(hub),
              AllOf(HasSubstr("hub.yml:1: base_model: NousResearch/Llama-3.2-1B is no directory "
                              "here, and triax downloads nothing. Download it first "
                              "(huggingface-cli download NousResearch/Llama-3.2-1B"),
                    HasSubstr("hub.yml:4: datasets[0].path: tatsu-lab/alpaca is no file")));
  std::vector<std::string> missing;
  const std::string text = axolotl_job_text(hub, missing);
  EXPECT_EQ(missing.size(), 2U);
  EXPECT_THAT(text, AllOf(HasSubstr("// Missing: "), HasSubstr("\"from\": \"NousResearch")));
}

TEST_F(Translate, WhatATrainerOfTextCannotDoIsRefused) {
  EXPECT_THAT(refusal("datasets: [{path: chat.jsonl, type: input_output}]\n"),
              HasSubstr("\"input_output\" is not built. Use chat_template, alpaca or completion"));
  EXPECT_THAT(refusal("datasets:\n  - path: chat.jsonl\n    split: test\n"),
              HasSubstr("config.yml:5: datasets[0].split: \"test\" is no split of a file"));
  EXPECT_THAT(refusal("datasets:\n  - {path: chat.jsonl}\n  - {path: chat.jsonl, type: alpaca}\n"),
              HasSubstr("datasets[1].type: it is read otherwise than datasets[0]"));
  EXPECT_THAT(refusal("adapter: lora\n"), HasSubstr("lora_r: missing"));
  EXPECT_THAT(refusal("chat_template: llama4\n"),
              HasSubstr("triax has no template \"llama4\", but alpaca, chatml, "));
  EXPECT_THAT(
      refusal("special_tokens: {eos_token: <|im_end|>}\n"),
      HasSubstr("special_tokens.eos_token: it is \"</s>\" in the tokenizer_config.json of"));
  EXPECT_THAT(refusal("optimizer: came_pytorch\n"), HasSubstr("\"came_pytorch\" is not built"));
  EXPECT_THAT(refusal("lr_scheduler: rex\n"), HasSubstr("lr_scheduler: \"rex\" is not built"));
  EXPECT_THAT(refusal("plugins: [axolotl.integrations.spectrum.SpectrumPlugin]\n"),
              HasSubstr("plugins[0]: triax runs no plugin"));
  EXPECT_THAT(refusal("unfrozen_parameters: ['model.layers.[0-9]+']\n"),
              HasSubstr("is a regular expression that no pattern with * stands for"));
  EXPECT_THAT(refusal("deepspeed: zero9.json\n"), HasSubstr("deepspeed: no such file: zero9.json"));
  EXPECT_THAT(refusal("excess_length_strategy: drop\n"), HasSubstr("Set it to truncate"));
  write("list.json", " [{\"messages\": []}]");
  EXPECT_THAT(refusal("datasets: [{path: list.json}]\n"), HasSubstr("is one JSON array"));
  EXPECT_THAT(refusal("datasets: [{path: hf}]\n"), Not(HasSubstr("has no file of JSON lines")));
}

TEST_F(Translate, LossesOfPairs) {
  const json job = job_of("rl: orpo\nrl_beta: 0.2\n");
  EXPECT_EQ(job.at("data").at("format"), "preference");
  EXPECT_EQ(job.at("loss"), (json{{"type", "orpo"}, {"beta", 0.2}}));
  EXPECT_THAT(refusal("rl: kto\n"),
              HasSubstr("rl: \"kto\" is not built. Set it to dpo, orpo or simpo"));
  EXPECT_EQ(job_of("rl: simpo\n").at("loss").at("chosen_weight"), 1.0);
  EXPECT_THAT(refusal("rl: dpo\ndpo_loss_type: [ipo]\n"), HasSubstr("dpo_loss_type: only"));
  EXPECT_THAT(refusal("rl: dpo\ndatasets: [{path: chat.jsonl, type: chatml.intel}]\n"),
              HasSubstr("\"chatml.intel\" is not built for pairs of answers"));
  EXPECT_EQ(job_of("rl: false\n").at("data").at("format"), "chat");
}

// Keys that another one makes useless are named, too.
TEST_F(Translate, NoKeyIsLeftOutInSilence) {
  std::vector<std::string> notes;
  job_of(
      "lr_scheduler: constant\nwarmup_steps: 10\nevals_per_epoch: 4\noptimizer: sgd\n"
      "adam_beta1: 0.9\nlora_r: 8\nmax_steps: 5\nnum_epochs: 2\nsave_steps: 1\n",
      &notes);
  ASSERT_EQ(notes.size(), 1U);
  for (const char* key : {"warmup_steps (line 7)", "evals_per_epoch (line 8)", "adam_beta1",
                          "lora_r (line 11): there is no adapter", "num_epochs"})
    EXPECT_THAT(notes.front(), HasSubstr(key));
}

TEST_F(Translate, AMissingKeyIsNamed) {
  EXPECT_THAT(error_of(write("config.yml", "datasets: []\n")),
              AllOf(HasSubstr("base_model: missing"), HasSubstr("learning_rate: missing")));
}

// The printed job is the job, and says where each key came from.
TEST_F(Translate, ThePrintedJobIsTheSameJob) {
  const std::string yaml = write("config.yml", lora_);
  std::vector<std::string> missing, notes;
  const std::string text = axolotl_job_text(yaml, missing);
  EXPECT_THAT(missing, ElementsAre());
  EXPECT_THAT(text,
              AllOf(HasSubstr("\"r\": 16,  // lora_r, line 37\n"),
                    HasSubstr("// Without effect: wandb_project (line 61): "),
                    HasSubstr("\"keep\": 4  // Axolotl's default\n"), HasSubstr("\"seed\": 42")));
  ErrorList errors;
  const JsonDocument again = parse_json(text, "job.json", errors);
  errors.raise();
  EXPECT_EQ(again.root, axolotl_job(read_text(yaml), yaml, notes).root);
}

}  // namespace
}  // namespace triax
