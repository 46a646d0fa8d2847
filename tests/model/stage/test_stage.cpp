// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage/stage.hpp"

#include <gmock/gmock.h>

#include "io/safetensors/safetensors.hpp"
#include "src/config/model/huggingface.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/model/small_models.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;

// The layers of all stages and chunks are those of the whole model, in order.
TEST(Stage, StagesHoldTheModelOnce) {
  ModelConfig model = small_model("qwen2");
  model.layers = 7;
  for (const auto& [stages, chunks] : {std::pair{1, 1}, {1, 3}, {2, 1}, {2, 3}, {7, 1}}) {
    std::vector<std::string> names;
    for (int global = 0; global < stages * chunks; ++global) {
      const Stage stage(model, {stages, global % stages, chunks, {}}, 8);
      EXPECT_EQ(stage.chunks(), chunks);
      EXPECT_EQ(stage.has_embedding(), global % stages == 0);
      EXPECT_EQ(stage.has_head(), global % stages == stages - 1);
      for (int layer = 0; layer < stage.layers(global / stages); ++layer)
        names.push_back(stage.name(global / stages, layer));
    }
    EXPECT_THAT(names, ElementsAre("embedding", "block 0", "block 1", "block 2", "block 3",
                                   "block 4", "block 5", "block 6", "head"));
  }
}

TEST(Stage, SequenceParallelismNeedsTensorRanks) {
  const ModelConfig model = small_model("gpt2");
  EXPECT_FALSE(Stage(model, {1, 0, 1, {1, 0, true}}, 8).place().tensor.sequence_parallel);
  EXPECT_TRUE(Stage(model, {1, 0, 1, {2, 0, true}}, 8).place().tensor.sequence_parallel);
}

TEST(Stage, OnlyTheLastHasAHead) {
  const ModelConfig model = small_model("gpt2");
  const Stage last(model, {2, 1, 1, {}}, 8);
  EXPECT_TRUE(last.has_head());
  EXPECT_NO_THROW(last.head());
  const Stage first(model, {2, 0, 1, {}}, 8);
  EXPECT_FALSE(first.has_head());
  EXPECT_THROW(first.head(), Error);
}

// Names and shapes match Hugging Face's files.
TEST(GlobalTensors, AreThoseOfTheFiles) {
  for (const std::string& name : golden_names()) {
    const GoldenCase golden = read_golden(name);
    const ModelConfig model =
        model_from_huggingface(contents(golden.directory + "/config.json"), name);
    const SafetensorsReader reader(golden.directory);
    std::size_t count = 0;
    for (const GlobalTensor& tensor : global_tensors(model)) {
      ASSERT_TRUE(reader.contains(tensor.name)) << name << ": " << tensor.name;
      EXPECT_EQ(reader.entries().at(tensor.name).shape, tensor.shape)
          << name << ": " << tensor.name;
      ++count;
    }
    EXPECT_EQ(count, reader.entries().size()) << name;
  }
}

// A dry run of a long sequence allocates no rotary tables.
TEST(Stage, ForAPlanHasNoTablesAndKnowsTheirSize) {
  ModelConfig model;
  model.architecture = "llama";
  model.layers = 2;
  const Stage plan(model, {}, 1 << 30, {}, StageUse::plan);
  EXPECT_EQ(plan.table_bytes(), (std::int64_t{1} << 30) * model.head_size * 4);
  const Stage small(model, {}, 16);
  EXPECT_EQ(small.table_bytes(), Stage(model, {}, 16, {}, StageUse::plan).table_bytes());
}

}  // namespace
}  // namespace triax::test
