// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/huggingface_export.hpp"

#include <bit>
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_writer.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/model/stage/stage.hpp"
#include "tests/huggingface/huggingface_fixtures.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  return names;
}

ExportSummary export_alone(const std::string& checkpoint, const std::string& directory,
                           const ExportOptions& options = {}) {
  return export_huggingface(checkpoint, directory, options, MPI_COMM_NULL);
}

nlohmann::json config_of(const std::string& directory) {
  return nlohmann::json::parse(contents(directory + "/config.json"));
}

TEST(HuggingfaceExport, OfWhatWasImportedIsEqualBitForBit) {
  for (const std::string& name : golden_names()) {
    const TempDirectory dir;
    const ExportSummary sum = export_alone(imported(dir, name), dir.path("out"));
    EXPECT_EQ(sum.type, DType::f32);
    EXPECT_EQ(bits_of(dir.path("out")), bits_of(read_golden(name).directory)) << name;
    const nlohmann::json before = config_of(read_golden(name).directory);
    const nlohmann::json after = config_of(dir.path("out"));
    for (const auto& [key, value] : before.items()) EXPECT_EQ(after[key], value) << name << key;
    EXPECT_EQ(after["torch_dtype"], "float32");
    EXPECT_EQ(after["eos_token_id"], before.value("eos_token_id", nlohmann::json()))
        << "if it is absent, null: a reader's default is another vocabulary's";
  }
}

TEST(HuggingfaceExport, In16BitsIsEqualBitForBitToo) {
  for (const DType type : {DType::bf16, DType::f16}) {
    const TempDirectory dir;
    export_alone(imported(dir, "llama-odd", type), dir.path("first"));
    EXPECT_EQ(SafetensorsReader(dir.path("first")).entries().begin()->second.dtype, type);
    EXPECT_EQ(import_huggingface(dir.path("first"), dir.path("again.h5"), {}).type, type);
    export_alone(dir.path("again.h5"), dir.path("second"));
    EXPECT_EQ(contents(dir.path("first/model.safetensors")),
              contents(dir.path("second/model.safetensors")));
    EXPECT_EQ(config_of(dir.path("first"))["torch_dtype"],
              type == DType::bf16 ? "bfloat16" : "float16");
    EXPECT_NE(bits_of(dir.path("first")), bits_of(read_golden("llama-odd").directory));
  }
}

TEST(HuggingfaceExport, ATiedHeadIsNotWrittenTwice) {
  const TempDirectory dir;
  for (const std::string name : {"gpt2-tiny", "gpt2-odd"}) {  // tied and untied head
    export_alone(imported(dir, name), dir.path(name));
    const bool tied = config_of(dir.path(name))["tie_word_embeddings"];
    EXPECT_EQ(SafetensorsReader(dir.path(name)).contains("lm_head.weight"), !tied);
    EXPECT_EQ(tied, name == "gpt2-tiny");
  }
}

TEST(HuggingfaceExport, IsVerifiedWhereThatIsAsked) {
  const TempDirectory dir;
  const std::string checkpoint = imported(dir, "gpt2-odd");
  EXPECT_FALSE(export_alone(checkpoint, dir.path("as-it-is"), {.verify = false}).verified);
  EXPECT_TRUE(export_alone(checkpoint, dir.path("verified"), {.verify = true}).verified);
}

TEST(HuggingfaceExport, ShardsHoldTheSame) {
  const TempDirectory dir;
  const std::string checkpoint = imported(dir, "qwen2-odd");
  const ExportSummary sum = export_alone(checkpoint, dir.path("out"), {.shard_bytes = 50'000});
  EXPECT_GT(sum.files, 2);
  EXPECT_EQ(names_in(dir.path("out")).size(), static_cast<std::size_t>(sum.files) + 2);
  const auto index = nlohmann::json::parse(contents(dir.path("out/model.safetensors.index.json")));
  EXPECT_EQ(index["metadata"]["total_size"], sum.bytes);
  EXPECT_EQ(index["weight_map"].size(), static_cast<std::size_t>(sum.tensors));
  EXPECT_EQ(bits_of(dir.path("out")), bits_of(read_golden("qwen2-odd").directory));
}

// Writes a checkpoint in bf16 whose weights are all `master`, rounded in /model. For 1 + 2^-8 +
// 2^-12, bf16 rounds up to 1.0078125; float16 of the master (1.00390625 + ...) and float16 of that
// bf16 differ.
void write_with_master(const std::string& path, float master) {
  const std::string directory = read_golden("gpt2-odd").directory;
  const ModelConfig model = model_from_huggingface(contents(directory + "/config.json"), "golden");
  std::vector<CheckpointTensor> tensors;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    tensors.push_back({"/model/" + tensor.name, DType::bf16, tensor.shape});
    tensors.push_back({"/master/" + tensor.name, DType::f32, tensor.shape});
  }
  CheckpointHeader header = example_header();
  header.model = huggingface_config(model);
  CheckpointWriter writer(path, MPI_COMM_NULL);
  writer.create(header, tensors);
  for (const CheckpointTensor& tensor : tensors) {
    const auto size = static_cast<std::size_t>(tensor.shape.elements());
    std::vector<float> values(size, master);
    std::vector<Bf16> narrow(size, Bf16(master));
    writer.write(tensor.name, {{{}, tensor.shape}},
                 tensor.dtype == DType::bf16 ? Tensor(narrow.data(), tensor.shape)
                                             : Tensor(values.data(), tensor.shape));
  }
  writer.publish();
}

TEST(HuggingfaceExport, AnotherTypeIsRoundedFromTheMasterWeights) {
  const TempDirectory dir;
  const float master = 1.0F + 0x1p-8F + 0x1p-12F;
  const auto rounded = static_cast<float>(Bf16(master));
  write_with_master(dir.path("c.h5"), master);
  const auto first = [&](std::optional<DType> type) {
    export_alone(dir.path("c.h5"), dir.path("out"), {.type = type, .replace = true});
    return std::bit_cast<float>(bits_of(dir.path("out")).begin()->second.front());
  };
  EXPECT_EQ(first({}), rounded);
  EXPECT_EQ(first(DType::bf16), rounded);
  EXPECT_EQ(first(DType::f32), master);
  EXPECT_EQ(first(DType::f16), static_cast<float>(F16(master)));
  EXPECT_NE(static_cast<float>(F16(master)), static_cast<float>(F16(rounded)));
}

TEST(HuggingfaceExport, WhatFloat16CannotHoldIsRefused) {
  const TempDirectory dir;
  write_with_master(dir.path("c.h5"), 70000.0F);
  EXPECT_THAT(
      error_of([&] { export_alone(dir.path("c.h5"), dir.path("out"), {.type = DType::f16}); }),
      AllOf(HasSubstr("float16 cannot hold"), HasSubstr("--dtype bf16")));
  export_alone(dir.path("c.h5"), dir.path("out"), {.type = DType::bf16});
}

TEST(HuggingfaceExport, AModelThatIsThereIsReplacedOnlyWhenAsked) {
  const TempDirectory dir;
  const std::string checkpoint = imported(dir, "gpt2-odd");
  std::filesystem::create_directory(dir.path("out"));
  dir.file("out/tokenizer.json", "kept");
  export_alone(checkpoint, dir.path("out"), {.shard_bytes = 50'000});
  const std::string left = dir.file("out/model-00001-of-00009.safetensors.tmp", "of a killed one");
  dir.file("out/config.json.tmp", "of a killed one");
  EXPECT_THAT(error_of([&] { export_alone(checkpoint, dir.path("out")); }),
              AllOf(HasSubstr(dir.path("out") + " holds a model"), HasSubstr("--force")));
  EXPECT_FALSE(std::filesystem::exists(left));
  export_alone(checkpoint, dir.path("out"), {.replace = true});
  EXPECT_THAT(names_in(dir.path("out")),
              UnorderedElementsAre("tokenizer.json", "config.json", "model.safetensors"));
}

// The target is checked before the checkpoint is read, which may be large.
TEST(HuggingfaceExport, TheTargetIsLookedAtFirst) {
  const TempDirectory dir;
  const std::string damaged = dir.file("c.h5", "words");
  std::filesystem::create_directory(dir.path("out"));
  dir.file("out/config.json", "{}");
  EXPECT_THAT(error_of([&] { export_alone(damaged, dir.path("out"), {.verify = true}); }),
              HasSubstr("holds a model"));
  EXPECT_THAT(error_of([&] { export_alone(damaged, dir.path("c.h5"), {.verify = true}); }),
              HasSubstr("not a directory"));
  EXPECT_THAT(names_in(dir.path("out")), ElementsAre("config.json"));
}

TEST(HuggingfaceExport, ADamagedCheckpointIsNotExported) {
  const TempDirectory dir;
  const std::string checkpoint = imported(dir, "gpt2-odd");
  const std::string tensor = "/model/transformer.wte.weight";
  flip_bit(checkpoint, hdf5::File(checkpoint, hdf5::File::Mode::read).offset(tensor) + 100, 3);
  EXPECT_THAT(error_of([&] { export_alone(checkpoint, dir.path("out"), {.verify = true}); }),
              HasSubstr("damaged"));
  EXPECT_FALSE(std::filesystem::exists(dir.path("out"))) << "nothing is left";
}

TEST(HuggingfaceExport, AFormerModelOutlivesAFullDisk) {
  const TempDirectory dir;
  const std::string checkpoint = imported(dir, "gpt2-odd");
  export_alone(checkpoint, dir.path("out"), {.type = DType::bf16});
  const auto before = bits_of(dir.path("out"));
  const std::string error = error_of([&] {
    const FileSizeLimit limit(64 << 10);
    export_alone(checkpoint, dir.path("out"), {.replace = true});
  });
  EXPECT_THAT(error, HasSubstr("no room"));
  EXPECT_THAT(names_in(dir.path("out")), UnorderedElementsAre("config.json", "model.safetensors"));
  EXPECT_EQ(bits_of(dir.path("out")), before);
}

TEST(HuggingfaceExport, ACheckpointWithoutAllTensorsIsRefused) {
  const TempDirectory dir;
  CheckpointHeader header = example_header();
  header.model = contents(read_golden("gpt2-odd").directory + "/config.json");
  CheckpointWriter writer(dir.path("c.h5"), MPI_COMM_NULL);
  writer.create(header, {{"/model/transformer.wte.weight", DType::f32, {1, 2}}});
  std::vector<float> values(2);
  writer.write("/model/transformer.wte.weight", {{{}, {1, 2}}}, Tensor(values.data(), {1, 2}));
  writer.publish();
  EXPECT_THAT(error_of([&] { export_alone(dir.path("c.h5"), dir.path("out")); }),
              AllOf(HasSubstr("/model/transformer.wte.weight"), HasSubstr("(131, 48)")));
  EXPECT_FALSE(std::filesystem::exists(dir.path("out")));
}

}  // namespace
}  // namespace triax::test
