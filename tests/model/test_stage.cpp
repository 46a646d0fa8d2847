// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "io/safetensors/safetensors.hpp"
#include "src/config/model/huggingface.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/model/small_models.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Cost of the most expensive chunk of a partition.
double dearest(const ModelConfig& model, const std::vector<int>& cuts) {
  const ForwardFlops flops = forward_flops(model, 16);
  double most = 0.0;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c)
    most = std::max(
        most, (cuts[c + 1] - cuts[c]) * flops.block + (c + 2 == cuts.size() ? flops.head : 0.0));
  return most;
}

// Smallest such cost of any partition into non-empty chunks.
double least(const ModelConfig& model, std::vector<int> cuts, int chunks) {
  if (chunks == 1) {
    cuts.push_back(model.layers);
    return dearest(model, cuts);
  }
  double best = std::numeric_limits<double>::infinity();
  for (int next = cuts.back() + 1; next <= model.layers - chunks + 1; ++next) {
    cuts.push_back(next);
    best = std::min(best, least(model, cuts, chunks - 1));
    cuts.pop_back();
  }
  return best;
}

TEST(PartitionBlocks, NoCutIsCheaper) {
  for (const int vocabulary : {10, 1000, 5000, 100000})  // the head from nothing to many blocks
    for (const int layers : {1, 2, 5, 8, 11}) {
      ModelConfig model = small_model(Architecture::llama);
      model.layers = layers;
      model.vocabulary = vocabulary;
      for (int chunks = 1; chunks <= layers; ++chunks) {
        const std::vector<int> cuts = partition_blocks(model, chunks, 16);
        ASSERT_EQ(std::ssize(cuts), chunks + 1);
        EXPECT_EQ(cuts.front(), 0);
        EXPECT_EQ(cuts.back(), layers);
        for (std::size_t c = 0; c + 1 < cuts.size(); ++c) EXPECT_LT(cuts[c], cuts[c + 1]);
        EXPECT_DOUBLE_EQ(dearest(model, cuts), least(model, {0}, chunks))
            << layers << " blocks, " << chunks << " chunks";
      }
    }
}

TEST(PartitionBlocks, ADearHeadGetsFewerBlocks) {
  ModelConfig model = small_model(Architecture::gpt2);
  model.layers = 8;
  model.vocabulary = 50;
  EXPECT_THAT(partition_blocks(model, 2, 16), ElementsAre(0, 4, 8));
  model.vocabulary = 100000;
  EXPECT_THAT(partition_blocks(model, 2, 16), ElementsAre(0, 7, 8));
}

TEST(PartitionBlocks, FewerBlocksThanChunksIsTheUsersError) {
  EXPECT_THAT(error_of([] { partition_blocks(small_model(Architecture::gpt2), 3, 16); }),
              HasSubstr("parallel.pipeline"));
}

TEST(ForwardFlops, CountTwoAWeightAndHalfTheSquare) {
  const ModelConfig model = small_model(Architecture::llama);
  const double weights = 12 * (16 + 2 * 8) + 16 * 12 + 3 * 12 * 10;
  EXPECT_EQ(forward_flops(model, 100).block, 2 * (weights + 16 * 100));
  EXPECT_EQ(forward_flops(model, 100).head, 2 * 12 * 21);
}

// The layers of all stages and chunks are those of the whole model, in order.
TEST(Stage, StagesHoldTheModelOnce) {
  ModelConfig model = small_model(Architecture::qwen2);
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
  const ModelConfig model = small_model(Architecture::gpt2);
  EXPECT_FALSE(Stage(model, {1, 0, 1, {1, 0, true}}, 8).place().tensor.sequence_parallel);
  EXPECT_TRUE(Stage(model, {1, 0, 1, {2, 0, true}}, 8).place().tensor.sequence_parallel);
}

TEST(Stage, OnlyTheLastHasAHead) {
  const ModelConfig model = small_model(Architecture::gpt2);
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
  model.architecture = Architecture::llama;
  model.layers = 2;
  const Stage plan(model, {}, 1 << 30, {}, StageUse::plan);
  EXPECT_EQ(plan.table_bytes(), (std::int64_t{1} << 30) * model.head_size * 4);
  const Stage small(model, {}, 16);
  EXPECT_EQ(small.table_bytes(), Stage(model, {}, 16, {}, StageUse::plan).table_bytes());
}

}  // namespace
}  // namespace triax::test
