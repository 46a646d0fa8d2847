// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/huggingface_import.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/huggingface/weights_check.hpp"
#include "src/model/stage/stage.hpp"
#include "tests/huggingface/huggingface_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class HuggingfaceImport : public testing::Test {
 protected:
  // Copy of a golden directory with `key` of config.json set to `value`.
  std::string changed(const std::string& golden, const std::string& key, nlohmann::json value) {
    const std::string copy = directory_.path(golden);
    std::filesystem::create_directory(copy);
    const std::string from = read_golden(golden).directory;
    std::filesystem::copy(from + "/model.safetensors", copy,
                          std::filesystem::copy_options::overwrite_existing);
    auto config = nlohmann::json::parse(contents(from + "/config.json"));
    config[key] = std::move(value);
    directory_.file(golden + "/config.json", config.dump());
    return copy;
  }
  std::string error(const std::string& from) {
    return error_of([&] { import_huggingface(from, directory_.path("c.h5"), {}); });
  }
  TempDirectory directory_;
};

TEST_F(HuggingfaceImport, MakesACheckpointOfStep0) {
  const std::string file = imported(directory_, "qwen2-odd");
  const CheckpointReader reader(file);
  EXPECT_EQ(reader.header().step, 0);
  EXPECT_EQ(reader.header().samples, 0);
  const ModelConfig model = model_from_huggingface(reader.header().model, file);
  EXPECT_EQ(reader.tensors().size(), global_tensors(model).size()) << "weights alone";
  for (const GlobalTensor& tensor : global_tensors(model))
    EXPECT_EQ(reader.shape("/model/" + tensor.name), tensor.shape);
}

TEST_F(HuggingfaceImport, ACheckReadsHeadersAlone) {
  const auto check = [](const std::string& directory) {
    const std::string file = directory + "/config.json";
    ModelConfig model = model_from_huggingface(contents(file), file);
    model.weights = directory;
    return check_weights(model);
  };
  EXPECT_THAT(check(read_golden("gpt2-odd").directory), testing::IsEmpty());
  EXPECT_THAT(error_of([&] { check(changed("gpt2-odd", "n_positions", 8)); }),
              HasSubstr("wpe.weight"));
}

TEST_F(HuggingfaceImport, KeepsTheTokenIds) {
  const nlohmann::json ids = {7, 9};
  const std::string from = changed("gpt2-odd", "eos_token_id", ids);
  import_huggingface(from, directory_.path("c.h5"), {});
  export_huggingface(directory_.path("c.h5"), directory_.path("out"), {}, MPI_COMM_NULL);
  EXPECT_EQ(nlohmann::json::parse(contents(directory_.path("out/config.json")))["eos_token_id"],
            ids);
}

TEST_F(HuggingfaceImport, TrainingKeepsTheTokenIds) {
  auto job = golden_job(read_golden("gpt2-odd"), {.micro = 1});
  job["model"] = {{"from", changed("gpt2-odd", "pad_token_id", 130)}};
  job["run"]["directory"] = directory_.path("run");
  job["run"]["steps"] = 1;
  job["checkpoint"] = {{"resume", "never"}};
  train_to_the_end(job);
  export_huggingface(checkpoint_path(directory_.path("run/checkpoints"), 1), directory_.path("out"),
                     {}, MPI_COMM_NULL);
  EXPECT_EQ(nlohmann::json::parse(contents(directory_.path("out/config.json")))["pad_token_id"],
            130);
}

// transformers 4 and 5 load different models from it.
TEST_F(HuggingfaceImport, AHeadOfItsOwnThatIsCalledTiedIsRefused) {
  EXPECT_THAT(error(changed("qwen2-odd", "tie_word_embeddings", true)),
              AllOf(HasSubstr("model.embed_tokens.weight and lm_head.weight differ"),
                    HasSubstr("set tie_word_embeddings to false")));
}

// safetensors' save_model and accelerate write a matrix with two names this way.
TEST_F(HuggingfaceImport, ATiedMatrixMayHaveTheNameOfTheHeadAlone) {
  const std::string from = changed("gpt2-tiny", "tie_word_embeddings", true);
  std::string file = contents(from + "/model.safetensors");
  const std::string name = "\"transformer.wte.weight\":", other = "\"lm_head.weight\":        ";
  ASSERT_EQ(name.size(), other.size());
  file.replace(file.find(name), name.size(), other);
  directory_.file("gpt2-tiny/model.safetensors", file);
  import_huggingface(from, directory_.path("c.h5"), {});
  EXPECT_EQ(CheckpointReader(directory_.path("c.h5")).shape("/model/transformer.wte.weight"),
            (Shape{256, 64}));
}

TEST_F(HuggingfaceImport, WeightsOfAnotherModelAreRefused) {
  EXPECT_THAT(error(changed("gpt2-odd", "n_layer", 7)),
              AllOf(HasSubstr("transformer.h.6"), HasSubstr("missing")));
  EXPECT_THAT(error(changed("gpt2-odd", "vocab_size", 132)),
              AllOf(HasSubstr("(131, 48)"), HasSubstr("(132, 48)")));
  EXPECT_THAT(error(changed("gpt2-odd", "model_type", "mamba")), HasSubstr("mamba"));
  EXPECT_THAT(error(directory_.path("none")), HasSubstr("none/config.json"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path("c.h5")));
}

TEST_F(HuggingfaceImport, WhatCannotBeReadIsNotCalledMissing) {
  const std::string from = changed("gpt2-odd", "n_layer", 6);
  std::string weights = contents(from + "/model.safetensors");
  weights.replace(weights.find("F32"), 3, "I32");
  directory_.file("gpt2-odd/model.safetensors", weights);
  EXPECT_THAT(error(from), HasSubstr("its type is I32"));
}

TEST_F(HuggingfaceImport, ValuesBeyondFloat16AreRefused) {
  const std::string from = changed("gpt2-odd", "n_layer", 6);
  std::string weights = contents(from + "/model.safetensors");
  const std::array values = {std::numeric_limits<float>::infinity(), 1e5F};
  std::memcpy(weights.data() + weights.size() - sizeof values, values.data(), sizeof values);
  directory_.file("gpt2-odd/model.safetensors", weights);
  const auto import_as = [&](DType type) {
    return [&, type] { import_huggingface(from, directory_.path("c.h5"), {.type = type}); };
  };
  EXPECT_THAT(error_of(import_as(DType::f16)),
              AllOf(HasSubstr("float16 cannot hold"), HasSubstr("--dtype bf16")));
  EXPECT_FALSE(std::filesystem::exists(directory_.path("c.h5")));
  import_as(DType::bf16)();
  const auto export_as_f16 = [&] {
    export_huggingface(directory_.path("c.h5"), directory_.path("out"), {.type = DType::f16},
                       MPI_COMM_NULL);
  };
  EXPECT_THAT(error_of(export_as_f16), HasSubstr("float16 cannot hold")) << "from bf16, too";
}

TEST_F(HuggingfaceImport, NamesThatTheModelHasNotAreSaid) {
  const std::string from = changed("gpt2-odd", "n_layer", 5);
  const auto sum = import_huggingface(from, directory_.path("c.h5"), {});
  EXPECT_THAT(sum.warnings, ElementsAre(HasSubstr(": 12 tensors are not part of this model: ")));
}

TEST_F(HuggingfaceImport, AFileThatIsThereIsReplacedOnlyWhenAsked) {
  const std::string from = read_golden("gpt2-odd").directory;
  const std::string file = directory_.file("c.h5", "mine");
  EXPECT_THAT(error(from), AllOf(HasSubstr("there already"), HasSubstr("--force")));
  EXPECT_EQ(contents(file), "mine");
  import_huggingface(from, file, {.replace = true});
  EXPECT_EQ(CheckpointReader(file).header().step, 0);
  const auto directory = [&] { import_huggingface(from, directory_.path(), {.replace = true}); };
  EXPECT_THAT(error_of(directory), HasSubstr("is a directory"));
}

}  // namespace
}  // namespace triax::test
