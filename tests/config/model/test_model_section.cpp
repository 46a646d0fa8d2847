// SPDX-License-Identifier: Apache-2.0
#include "src/config/model/model_section.hpp"
#include "src/model/families/families.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/config/job_files.hpp"
#include "tests/config/model_texts.hpp"
#include "tests/config/same_config.hpp"

namespace triax {
namespace {
using namespace testing_support;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* llama3 =
    R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192})";

class ModelSection : public testing_support::JobFiles {
 protected:
  std::string with_model(const std::string& section) {
    return write("job.json", "{\"model\": " + section +
                                 ",\n\"data\": {\"train\": \"text.txt\", \"tokenizer\": "
                                 "\"bytes\"}, \"train_batch_size\": 1}");
  }
  std::string hf(const std::string& more = {}) {
    return write("hf/config.json",
                 "{\n\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": "
                 "4,\n\"num_hidden_layers\": 3, \"vocab_size\": 300" +
                     more + "}");
  }
};

TEST_F(ModelSection, ShapeFromAFile) {
  hf();
  const auto m = load_job(with_model(R"({"config": "hf/config.json"})"), {}, 1).config.model;
  EXPECT_EQ(m.layers, 3);
  EXPECT_EQ(m.weights, "");
}

TEST_F(ModelSection, WeightsAndShapeFromADirectory) {
  hf();
  const auto job = with_model(R"({"from": "hf"})");
  EXPECT_THAT(error_of(job), HasSubstr("model.from: no model.safetensors in hf"));
  write("hf/model.safetensors.index.json", "{}");
  EXPECT_EQ(load_job(job, {}, 1).config.model.weights, path("hf"));
}

TEST_F(ModelSection, InlineKeysOverrideTheFile) {
  hf(R"(, "attention_dropout": 0.1)");
  const auto m = load_job(with_model(R"({"config": "hf/config.json", "num_hidden_layers": 5})"),
                          {"model.attention_dropout=0"}, 1)
                     .config.model;
  EXPECT_EQ(m.layers, 5);
  EXPECT_EQ(m.hidden, 64);
  EXPECT_EQ(m.attention_dropout, 0.0F);
}

TEST_F(ModelSection, RopeScalingOfTheJobLiesOverTheFiles) {
  hf(std::string(", \"rope_parameters\": ") + llama3);
  const auto with = [&](const std::string& set) {
    const auto job = with_model(R"({"config": "hf/config.json"})");
    return load_job(job, {"model.rope_scaling" + set}, 1).config.model.rope_scaling;
  };
  EXPECT_EQ(with(".factor=16"), (RopeScaling{"llama3", 16.0, 1.0, 4.0, 8192}));
  EXPECT_EQ(with(R"(={"rope_type":"default"})"), RopeScaling{});
  EXPECT_THAT(
      error_of(with_model(R"({"config": "hf/config.json", "rope_scaling": {"facto": 2}})")),
      HasSubstr("model.rope_scaling.facto: unknown key (nearest: model.rope_scaling.factor)"));
}

// A run's sequences have one length, which decides once what some kinds do.
TEST_F(ModelSection, RotaryPositionsAreResolvedFromTheLengthOfSequences) {
  hf(R"(, "max_position_embeddings": 512, "rope_scaling": {"type": "dynamic", "factor": 2})");
  const auto job = with_model(R"({"config": "hf/config.json"})");
  const auto beyond = load_job(job, {"data.seq_length=1024"}, 1);
  EXPECT_THAT(beyond.warnings,
              ElementsAre(AllOf(HasSubstr("hf/config.json:3: model.rope_scaling.rope_type: "),
                                HasSubstr("\"dynamic\": sequences of 1024 tokens are beyond "
                                          "max_position_embeddings 512: rope_theta 10000 acts"))));
  EXPECT_THAT(load_job(job, {}, 1).warnings, ElementsAre(HasSubstr("512 tokens are within")));
  EXPECT_EQ(load_job(write("again.json", beyond.resolved), {}, 1).config.model.rope_scaling,
            beyond.config.model.rope_scaling);
  EXPECT_THAT(error_of(job, 1, {"data.seq_length=1024", "model.rope_scaling.rope_type=linear"}),
              HasSubstr("data.seq_length: 1024 is more than the model's 512 positions"));
}

TEST_F(ModelSection, TheResolvedTextHasTheDefaultsOfRotaryKeys) {
  hf(R"(, "rope_parameters": {"rope_type": "yarn", "original_max_position_embeddings": 512})");
  const auto first = load_job(with_model(R"({"config": "hf/config.json"})"), {}, 1);
  EXPECT_EQ(first.config.model.rope_scaling.factor, 4.0);
  const auto again = load_job(write("again.json", first.resolved), {}, 1);
  EXPECT_TRUE(testing_support::same(again.config.model, first.config.model));
  EXPECT_EQ(again.resolved, first.resolved);
}

TEST_F(ModelSection, UnknownKeysOfTheFileAreAWarning) {
  hf(", \"rms_norm_ep\": 2");
  const auto job = load_job(with_model(R"({"config": "hf/config.json"})"), {}, 1);
  EXPECT_THAT(job.warnings,
              ElementsAre(AllOf(HasSubstr("hf/config.json"), HasSubstr("is rms_norm_eps meant?"))));
}

TEST_F(ModelSection, AMisspeltSizeOfTheFileIsAnError) {
  hf(",\n\"num_key_value_head\": 2");
  const std::string text = R"({"config": "hf/config.json")";
  EXPECT_EQ(error_of(with_model(text + "}")),
            "hf/config.json:4: model.num_key_value_head: unknown key; num_key_value_heads, which "
            "seems to be meant, is missing. Correct the name");
  EXPECT_EQ(error_of(with_model(text + R"(, "num_key_value_heads": 2})")), "") << "said here";
}

TEST_F(ModelSection, SizesThatTheFileDoesNotSayAreErrors) {
  write("hf/config.json",
        "{\"model_type\": \"llama\", \"num_attention_heads\": 4, \"vocab_size\": null,\n"
        "\"num_hiden_layers\": 2, \"hidden_size\": 64}");
  const std::string text = R"({"config": "hf/config.json")";
  EXPECT_EQ(error_of(with_model(text + "}")),
            "hf/config.json:1: model.vocab_size: missing. Set it: it is part of the model's "
            "shape\nhf/config.json:2: model.num_hiden_layers: unknown key; num_hidden_layers, "
            "which seems to be meant, is missing. Correct the name");
  EXPECT_EQ(error_of(with_model(text + R"(, "vocab_size": 256, "num_hidden_layers": 2})")), "");
}

TEST_F(ModelSection, WhatIsMissingHasTheLineOfItsObject) {
  hf(",\n\"rope_parameters\": {\"rope_type\": \"linear\"}");
  EXPECT_THAT(error_of(with_model(R"({"config": "hf/config.json"})")),
              HasSubstr("hf/config.json:4: model.rope_scaling.factor: missing."));
  EXPECT_THAT(error_of(with_model("{\n\"config\": \"hf/config.json\",\n"
                                  "\"rope_scaling\": {\"rope_type\": \"linear\"}}")),
              HasSubstr("job.json:3: model.rope_scaling.factor: missing."));
  EXPECT_THAT(error_of(with_model("{\"architecture\": \"llama\",\n"
                                  "\"rope_scaling\": {\"rope_type\": \"linear\"}}")),
              HasSubstr("job.json:2: model.rope_scaling.factor: missing."));
}

TEST_F(ModelSection, TheResolvedTextScalesAlike) {
  hf(std::string(", \"attention_bias\": true, \"rope_scaling\": ") + llama3);
  const auto first = load_job(with_model(R"({"config": "hf/config.json"})"), {}, 1);
  const auto again = load_job(write("again.json", first.resolved), {}, 1);
  EXPECT_TRUE(testing_support::same(again.config.model, first.config.model));
  EXPECT_EQ(again.config.model.rope_scaling.factor, 8.0);
}

TEST_F(ModelSection, InlineKeysAreStrict) {
  EXPECT_EQ(error_of(with_model(R"({"architecture": "gpt2", "n_layres": 2})")),
            "job.json:1: model.n_layres: unknown key (nearest: model.n_layer)");
  EXPECT_THAT(error_of(with_model(R"({"architecture": "llama", "n_layer": 2})")),
              HasSubstr("model.n_layer: a key of gpt2, not of model.architecture \"llama\""));
}

TEST_F(ModelSection, SaysWhatIsMissing) {
  EXPECT_THAT(error_of(with_model("{}")), HasSubstr("model.architecture: missing"));
  EXPECT_THAT(error_of(with_model("null")), HasSubstr("model: missing"));
  EXPECT_THAT(error_of(with_model("3")), HasSubstr("model: expected an object, got 3"));
  EXPECT_THAT(error_of(with_model(R"({"from": "nowhere"})")),
              HasSubstr("model.from: no such file or directory: nowhere"));
  EXPECT_THAT(error_of(with_model(R"({"from": 3})")),
              HasSubstr("model.from: expected path, got 3"));
  std::filesystem::create_directories(path("empty"));
  EXPECT_THAT(error_of(with_model(R"({"from": "empty"})")),
              HasSubstr("model.from: no config.json in empty"));
  hf();
  EXPECT_THAT(error_of(with_model(R"({"from": "hf", "config": "hf/config.json"})")),
              HasSubstr("Leave one out"));
  EXPECT_THAT(error_of(with_model(R"({"config": "hf/config.json", "architecture": "gpt2"})")),
              HasSubstr("gpt2 contradicts llama"));
}

TEST_F(ModelSection, WhatTheJobSaysIsJudgedWithoutItsFamilyAndFiles) {
  const std::string wrong = R"("n_layres": 2, "initializer_range": "big", "vocab_size": 256})";
  const auto errors = AllOf(HasSubstr("model.n_layres: unknown key (nearest: model.n_layer)"),
                            HasSubstr("model.initializer_range: expected number, got \"big\""));
  for (const char* what :
       {R"("from": "nowhere")", R"("config": "nowhere")", R"("architecture": "gpt3")",
        R"("architecture": "gpt2", "model_type": "llama")", R"("architecture": null)"}) {
    const auto text = error_of(with_model(std::string("{") + what + ", " + wrong));
    EXPECT_THAT(text, errors) << what;
    EXPECT_EQ(std::ranges::count(text, '\n'), 2) << text;
  }
  EXPECT_EQ(error_of(with_model(R"({"architecture": "gpt3", "n_layer": 2, "hidden_size": 0})")),
            "job.json:1: model.architecture: \"gpt3\" is not known (known: " + family_names() +
                "; nearest: gpt2)\n"
                "job.json:1: model.hidden_size: 0 is not allowed (allowed: 1 <= x <= 10000000)")
      << "of any family";
  EXPECT_THAT(error_of(with_model(R"({"from": "no", "architecture": "llama", "n_layer": 2})")),
              HasSubstr("model.n_layer: a key of gpt2, not of model.architecture \"llama\""));
}

TEST_F(ModelSection, FilesThatCannotBeReadHaveTheJobsLine) {
  hf();
  EXPECT_EQ(error_of(with_model("{\n\"config\": \"hf\"}")),
            "job.json:2: model.config: hf: cannot read (it is a directory). Name a config.json "
            "that can be read");
  std::filesystem::create_symlink("model.safetensors", path("hf/model.safetensors"));
  EXPECT_THAT(error_of(with_model("{\n\"from\": \"hf\"}")),
              HasSubstr("job.json:2: model.from: hf/model.safetensors: cannot read (Too many"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of(with_model("{\n\"config\": \"pipe\"}")),
              HasSubstr("job.json:2: model.config: pipe is a pipe, which only one process"));
}

TEST_F(ModelSection, WrongSizesAreNotCompared) {
  EXPECT_EQ(error_of(with_model(R"({"architecture": "gpt2", "n_head": 0, "n_embd": 8})")),
            "job.json:1: model.n_head: 0 is not allowed (allowed: 1 <= x <= 1000000)");
  const std::string llama = R"({"architecture": "llama", "hidden_size": 36)";
  const auto lines = [&](const std::string& more) {
    const auto text = error_of(with_model(llama + more));
    return std::ranges::count(text, '\n') + (text.empty() ? 0 : 1);
  };
  EXPECT_EQ(lines(R"(, "num_attention_heads": 0, "num_key_value_heads": 3})"), 1);
  EXPECT_EQ(lines(R"(, "num_attention_heads": 4, "num_key_value_heads": 0})"), 2) << "9 is odd";
  EXPECT_EQ(lines(R"(, "num_attention_heads": 4, "head_dim": 0})"), 1);
  EXPECT_EQ(lines(R"(, "num_attention_heads": 0, "head_dim": 3})"), 2);
}

TEST_F(ModelSection, ErrorsInTheFileHaveItsLines) {
  hf(",\n\"rms_norm_eps\": \"small\"");
  EXPECT_EQ(error_of(with_model(R"({"config": "hf/config.json"})")),
            "hf/config.json:4: model.rms_norm_eps: expected number, got \"small\"");
  write("hf/config.json", "{\"model_type\": ");
  EXPECT_THAT(error_of(with_model(R"({"config": "hf/config.json"})")),
              HasSubstr("hf/config.json:1:"));
}

}  // namespace
}  // namespace triax
