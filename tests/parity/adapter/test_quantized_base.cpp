// SPDX-License-Identifier: Apache-2.0
// Adapters on a base that stays in few bits: the losses of the same base decoded as it is loaded,
// on every grid and ZeRO level, from plain and from quantized files; memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/safetensors/safetensors_writer.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/huggingface/quantize_model.hpp"
#include "src/model/stage/stage.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/model/layer_run.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

class QuantizedBase : public testing::Test {
 protected:
  // A golden base with its linear maps in `format`, as files.
  std::string files(const std::string& golden, const std::string& format) {
    return files_of(read_golden(golden).directory, golden + "-" + format, format);
  }
  std::string files_of(const std::string& base, const std::string& name,
                       const std::string& format) {
    const std::string out = directory_.path(name);
    quantize_model(base, format, out, {}, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return out;
  }
  // A base of random weights whose linear maps four tensor ranks can cut between groups.
  std::string wide_base() const {
    std::string directory = directory_.path("wide");
    if (world_rank() == 0) write_wide(directory);
    MPI_Barrier(MPI_COMM_WORLD);
    return directory;
  }
  static void write_wide(const std::string& directory) {
    const nlohmann::json config = {
        {"model_type", "llama"},    {"hidden_size", 72},        {"num_hidden_layers", 2},
        {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"head_dim", 64},
        {"intermediate_size", 256}, {"vocab_size", 67},         {"tie_word_embeddings", false},
        {"rms_norm_eps", 1e-5},     {"rope_theta", 10000.0},    {"max_position_embeddings", 64}};
    std::filesystem::create_directory(directory);
    std::ofstream(directory + "/config.json") << config;
    std::vector<SafetensorsTensor> tensors;
    for (const GlobalTensor& tensor :
         global_tensors(model_from_huggingface(config.dump(), "config.json")))
      tensors.push_back({tensor.name, DType::f32, tensor.shape});
    std::uint64_t key = 0;
    SafetensorsWriter writer(directory + "/model.safetensors", tensors);
    for (const SafetensorsTensor& tensor : tensors) {
      std::vector<float> values = random_floats(tensor.shape.elements(), ++key,
                                                tensor.shape.rank() == 2 ? 0.0F : 1.0F, 0.1F);
      writer.write(tensor.name, 0, Tensor(values.data(), {std::ssize(values)}));
    }
    writer.publish();
  }
  static nlohmann::json job(const std::string& golden, const Layout& layout,
                            const std::string& base, const std::string& bits) {
    auto made = golden_job(read_golden(golden), layout);
    if (!base.empty()) made["model"]["from"] = base;
    made["model"]["quantize"] = bits;
    made["lora"] = {{"r", 4},
                    {"lora_alpha", 8},
                    {"target_modules", "all-linear"},
                    {"init_lora_weights", false}};
    return made;
  }
  static std::vector<Layout> layouts(const std::string& format) {
    std::vector<Layout> all = {
        {.micro = 1, .recompute = 9},
        {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 2, .recompute = 1},
        {.pipeline = 2, .schedule = "zero-bubble", .micro = 1},
        {.data = 2, .micro = 2, .zero = 3},
        {.data = 2, .micro = 2, .zero = 1},
        {.pipeline = 2, .data = 2, .micro = 1, .zero = 3, .persistence = 50}};
    if (format == "int8")
      for (const Layout& layout : {Layout{.tensor = 2, .micro = 2},
                                   {.tensor = 2, .data = 2, .micro = 1, .zero = 3},
                                   {.tensor = 4, .micro = 2}})
        all.push_back(layout);
    std::erase_if(all, [](const Layout& l) { return l.ranks() != world_size(); });
    return all;
  }
  static void expect_close(const std::vector<StepMetrics>& found,
                           const std::vector<StepMetrics>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(found[i].loss, expected[i].loss, golden_loss_tolerance * expected[i].loss) << i;
      EXPECT_NEAR(found[i].grad_norm, expected[i].grad_norm,
                  golden_norm_tolerance * expected[i].grad_norm)
          << i;
    }
  }
  SharedDirectory directory_;
};

TEST_F(QuantizedBase, HasTheLossesOfTheDecodedBase) {
  for (const std::string golden : {"llama-lora", "gpt2-lora"})
    for (const std::string format : {"nf4", "nf4-double", "int8"}) {
      if (golden == "gpt2-lora" && format != "int8") continue;  // one format of each order
      const std::string base = files(golden, format);
      const auto decoded = train(MPI_COMM_SELF, job(golden, {.micro = 2}, base, "none"), 2);
      const auto plain = train(MPI_COMM_SELF, job(golden, {.micro = 2}, "", "none"), 1);
      EXPECT_NE(decoded[0].loss, plain[0].loss) << "quantized weights are others";
      for (const Layout& layout : layouts(format)) {
        if (!carries(read_golden(golden), layout)) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", golden, format, layout.text()));
        expect_close(train(MPI_COMM_WORLD, job(golden, layout, base, format), 2), decoded);
        expect_close(train(MPI_COMM_WORLD, job(golden, layout, "", format), 2), decoded);
      }
      if (world_size() != 2) continue;
      auto stored = job(golden, {.data = 2, .micro = 2, .zero = 3}, base, format);
      offload_parameters(stored, directory_.path());
      expect_close(train(MPI_COMM_WORLD, stored, 2), decoded);
    }
}

// Tensor ranks cut 4 bits between groups: maps of whole rows anywhere, maps of columns every 64.
TEST_F(QuantizedBase, IsCutOverTheTensorAxis) {
  const std::string plain = wide_base();
  for (const std::string format : {"nf4", "nf4-double"}) {
    const std::string base = files_of(plain, "wide-" + format, format);
    const auto decoded = train(MPI_COMM_SELF, job("llama-lora", {.micro = 2}, base, "none"), 2);
    for (const Layout& layout : {Layout{.tensor = 2, .micro = 2},
                                 {.tensor = 2, .data = 2, .micro = 1, .zero = 3},
                                 {.tensor = 2, .pipeline = 2, .micro = 2},
                                 {.tensor = 4, .micro = 2}}) {
      if (layout.ranks() != world_size()) continue;
      SCOPED_TRACE(fmt::format("{} {}", format, layout.text()));
      expect_close(train(MPI_COMM_WORLD, job("llama-lora", layout, base, format), 2), decoded);
      expect_close(train(MPI_COMM_WORLD, job("llama-lora", layout, plain, format), 2), decoded);
    }
  }
}

// Magnitudes start as the norms of the weights that the bits decode to.
TEST_F(QuantizedBase, HasMagnitudesOfTheDecodedBase) {
  for (const std::string golden : {"llama-lora", "gpt2-lora"})
    for (const std::string format : {"nf4-double", "int8"}) {
      if (golden == "gpt2-lora" && format != "int8") continue;
      const auto decomposed = [&](const Layout& layout, const std::string& base,
                                  const std::string& bits) {
        auto made = job(golden, layout, base, bits);
        made["lora"]["use_dora"] = true;
        made["lora"].erase("init_lora_weights");
        return made;
      };
      const std::string base = files(golden, format);
      auto plain = decomposed({.micro = 2}, base, "none");
      const auto decoded = train(MPI_COMM_SELF, plain, 4);
      plain["lora"]["use_dora"] = false;
      EXPECT_EQ(train(MPI_COMM_SELF, plain, 1)[0].loss, decoded[0].loss);
      for (const Layout& layout : layouts(format)) {
        if (!carries(read_golden(golden), layout)) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", golden, format, layout.text()));
        expect_close(train(MPI_COMM_WORLD, decomposed(layout, base, format), 4), decoded);
        expect_close(train(MPI_COMM_WORLD, decomposed(layout, "", format), 4), decoded);
      }
    }
}

// The bytes of the base are no weights that could diverge, nor a part of the checkpoint.
TEST_F(QuantizedBase, IsLoadedAgainByARunThatResumes) {
  Layout layout{.micro = 2};
  if (world_size() == 2) layout = {.data = 2, .micro = 2, .zero = 3};
  if (world_size() == 4) layout = {.pipeline = 2, .data = 2, .micro = 1, .zero = 3};
  for (const std::string format : {"nf4-double", "int8"}) {
    const auto run = [&](const std::string& name, const std::string& resume) {
      auto made = job("llama-lora", layout, "", format);
      made["run"]["directory"] = directory_.path(name);
      made["run"]["steps"] = 4;
      made["checkpoint"] = {{"interval", 2}, {"at_end", true}, {"resume", resume}};
      if (world_size() == 2) offload_parameters(made, directory_.path());
      train_to_the_end(made);
      return directory_.path(name) + "/checkpoints/step-000002.h5";
    };
    const std::string file = run(format, "never");
    EXPECT_FALSE(CheckpointReader(file).contains("/model/model.norm.weight"));
    run(format + "-again", file);
    if (world_rank() != 0) continue;
    expect_resumed(metrics_of(directory_.path(format + "-again")),
                   metrics_of(directory_.path(format)), 2, 0.0, 0.0);
  }
}

// Tiles are rounded to the run's type.
TEST_F(QuantizedBase, ComputesInHalfPrecision) {
  const std::string base = files("llama-lora", "nf4-double");
  Layout layout{.micro = 2};
  const auto wide = train(MPI_COMM_SELF, job("llama-lora", layout, base, "nf4-double"), 2);
  for (const char* type : {"bf16", "fp16"}) {
    layout.type = type;
    const auto half = train(MPI_COMM_SELF, job("llama-lora", layout, base, "nf4-double"), 2);
    EXPECT_NE(half[0].loss, wide[0].loss) << type;
    EXPECT_NEAR(half[0].loss, wide[0].loss, 5e-3 * wide[0].loss) << type;
  }
}

TEST_F(QuantizedBase, RefusesWhatItCannotKeep) {
  const std::string base = files("llama-lora", "nf4");
  EXPECT_THAT(
      error_of([&] { train(MPI_COMM_SELF, job("llama-lora", {.micro = 2}, base, "int8"), 1); }),
      HasSubstr("the files have nf4"));
  auto whole = job("llama-lora", {.micro = 2}, base, "nf4");
  whole.erase("lora");
  EXPECT_THAT(error_of([&] { train(MPI_COMM_SELF, whole, 1); }), HasSubstr("Add a section lora"));
}

}  // namespace
}  // namespace triax::test
