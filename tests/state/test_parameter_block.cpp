// SPDX-License-Identifier: Apache-2.0
#include "src/state/parameter_block.hpp"

#include <algorithm>
#include <set>

#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

using testing::Each;

// Over all ranks of any grid, with any sharding over the data axis, each element of each tensor has
// exactly one owner.
TEST(ParameterBlocks, OwnEveryElementOnce) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& grid) {
    for (const int data : {1, 3}) {
      GlobalValues owners = zeros(model);
      for (const auto& stage : stages_of(model, grid))
        for (int rank = 0; rank < data; ++rank)
          for (const ParameterBlock& block :
               lay_out_blocks(*stage, {.size = data, .rank = rank, .zero_stage = data == 3}))
            for_each_owned(block, [&](const std::string& name, std::int64_t global, std::int64_t) {
              owners.at(name).at(static_cast<std::size_t>(global)) += 1.0F;
            });
      for (const auto& [name, counts] : owners)
        EXPECT_THAT(counts, Each(1.0F)) << name << ", data " << data;
    }
  });
}

TEST(ParameterBlocks, PartsOverTheDataAxisAreEqualAndWhole) {
  const Stage stage(golden_model("gpt2-odd"), {}, 16);
  for (const int data : {1, 2, 3, 5})
    for (int rank = 0; rank < data; ++rank)
      for (const bool sharded : {false, true}) {
        const auto blocks =
            lay_out_blocks(stage, {.size = data, .rank = rank, .zero_stage = sharded});
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          EXPECT_EQ(blocks[b].elements % (16 * data), 0);
          EXPECT_EQ(blocks[b].own.begin, blocks[b].elements / data * rank);
          EXPECT_EQ(blocks[b].own.count(), blocks[b].elements / data);
          EXPECT_EQ(blocks[b].stepped.count(),
                    sharded ? blocks[b].own.count() : blocks[b].elements);
        }
      }
}

// One plan serves all tensor ranks, also if their shares of a parameter are unequal.
TEST(ParameterBlocks, AreCutAlikeOnAllTensorRanks) {
  const auto cuts = [](const Stage& stage, const DataShard& shard) {
    std::vector<std::string> found;
    for (const ParameterBlock& block : lay_out_blocks(stage, shard)) {
      std::string cut =
          fmt::format("{} {} {} {} {} {} {} {}:", block.name, static_cast<int>(block.content),
                      static_cast<int>(block.home), block.duplicate, block.elements,
                      block.gather_piece, block.kept_parts, block.host_state);
      for (const FlatRange& part : block.parts) cut += fmt::format(" {}-{}", part.begin, part.end);
      for (const PartialRange& partial : block.partial)
        cut += fmt::format(" {}/{}", partial.range.count(), partial.parts);
      for (const PlacedParameter& param : block.params)
        cut += fmt::format(" {}@{}", param.spec.label, param.offset);
      found.push_back(cut);
    }
    return found;
  };
  for_each_grid([&](const ModelConfig& model, const GridOfStages& grid) {
    const auto stages = stages_of(model, grid);
    for (const int zero : {0, 1, 2, 3})
      for (const std::int64_t limit : {200, 220, 400, 3'000}) {
        DataShard shard{.size = 3, .rank = 1, .zero_stage = zero, .gather_limit = limit};
        shard.persistence_threshold = limit;
        shard.offload.optimizer_share = 0.7;
        shard.offload.part_elements = 1024;
        shard.offload.parameters = true;
        shard.offload.kept_parameters = 10 * limit;
        for (std::size_t i = 0; i < stages.size(); ++i)
          EXPECT_EQ(cuts(*stages[i], shard),
                    cuts(*stages[i - i % static_cast<std::size_t>(grid.tensor)], shard))
              << "zero " << zero << ", limit " << limit << ", stage and rank " << i;
      }
  });
}

// A layer of which a part is frozen has two buckets; the frozen one has parameters only.
TEST(ParameterBlocks, FrozenParametersHaveBucketsOfTheirOwn) {
  ModelConfig model = golden_model("gpt2-odd");
  model.trainability.freeze = {"transformer.wte", "transformer.h.1.mlp", "*.ln_1.weight"};
  for (const int zero : {0, 1, 2, 3})
    for (const std::int64_t threshold : {0, 60}) {
      const Stage stage(model, {1, 0, 1, {2, 1, true}}, 16);
      DataShard shard{.size = 2, .rank = 1, .zero_stage = zero, .gather_limit = 100};
      shard.persistence_threshold = zero == 3 ? threshold : 0;
      shard.offload.optimizer_share = 1.0;
      int frozen = 0;
      for (const ParameterBlock& block : lay_out_blocks(stage, shard)) {
        for (const PlacedParameter& param : block.params)
          EXPECT_EQ(param.spec.trained, block.trained) << block.name << " " << param.spec.label;
        if (block.trained) continue;
        ++frozen;
        EXPECT_TRUE(block.name.starts_with("frozen ")) << block.name;
        EXPECT_EQ(block.gradients.count(), 0);
        EXPECT_EQ(block.stepped.count(), 0);
        EXPECT_EQ(block.gather_piece, 0);
        EXPECT_TRUE(block.partial.empty() && block.parts.empty() && !block.host_state);
        EXPECT_EQ(block.parameters.count(), block.sharded() ? block.elements / 2 : block.elements);
        EXPECT_EQ(block.own.count(), block.elements / 2);
      }
      // The embedding's, a norm's of each block (block 1: with the MLP), or one with all small
      // ones.
      EXPECT_EQ(frozen, zero == 3 && threshold > 0 ? 3 : 1 + model.layers);
    }
}

TEST(ParameterBlocks, UpdatedParametersAreGatheredInPiecesUpToTheLimit) {
  const Stage stage(golden_model("gpt2-odd"), {}, 16);
  for (const int zero : {0, 1, 2, 3}) {
    DataShard shard{.size = 4, .rank = 2, .zero_stage = zero, .gather_limit = 1000};
    int pieces = 0;
    for (const ParameterBlock& block : lay_out_blocks(stage, shard)) {
      pieces += gathers_of(block) - 1;
      EXPECT_LE(block.gather_piece, 1000);
      EXPECT_EQ(block.gather_piece % (4 * 16), 0) << "whole lines of memory";
      if (zero == 0 || block.sharded()) {
        EXPECT_EQ(gathers_of(block), 1);
        EXPECT_EQ(gathered_run(block, 0), (FlatRange{0, block.own.count()}));
      }
    }
    EXPECT_EQ(pieces > 0, zero == 1 || zero == 2) << zero;
  }
}

TEST(ParameterBlocks, ParametersAreAlignedAndApart) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& grid) {
    for (const auto& stage : stages_of(model, grid))
      for (const ParameterBlock& block : lay_out_blocks(*stage, {})) {
        std::vector<FlatRange> ranges;
        for (const PlacedParameter& param : block.params) {
          EXPECT_EQ(param.offset % 16, 0);
          ranges.push_back({param.offset, param.offset + param.spec.shape.elements()});
        }
        std::sort(ranges.begin(), ranges.end(), [](auto a, auto b) { return a.begin < b.begin; });
        for (std::size_t i = 1; i < ranges.size(); ++i)
          EXPECT_GE(ranges[i].begin, ranges[i - 1].end);
        EXPECT_LE(ranges.back().end, block.elements);
      }
  });
}

// Every parameter of every layer is in one bucket, at one offset.
TEST(ParameterBlocks, HoldEveryParameterOfEveryLayer) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& grid) {
    for (const auto& stage : stages_of(model, grid)) {
      std::set<std::tuple<int, int, std::size_t>> uses;
      for (const ParameterBlock& block : lay_out_blocks(*stage, {}))
        for (const PlacedParameter& param : block.params)
          for (const ParameterUse& use : param.uses) {
            EXPECT_TRUE(uses.emplace(use.chunk, use.layer, use.index).second);
            EXPECT_EQ(stage->layer(use.chunk, use.layer).params()[use.index].shape,
                      param.spec.shape);
          }
      std::size_t expected = 0;
      for (int chunk = 0; chunk < stage->chunks(); ++chunk)
        for (int layer = 0; layer < stage->layers(chunk); ++layer)
          expected += stage->layer(chunk, layer).params().size();
      EXPECT_EQ(uses.size(), expected);
    }
  });
}

TEST(ParameterBlocks, ATiedEmbeddingIsSharedOrDoubled) {
  const ModelConfig model = golden_model("gpt2-tiny");
  const auto tied_of = [](const Stage& stage) {
    std::vector<ParameterBlock> tied;
    for (const ParameterBlock& block : lay_out_blocks(stage, {}))
      if (block.content == BlockContent::tied_embedding) tied.push_back(block);
    return tied;
  };
  const auto whole = tied_of(Stage(model, {}, 16));
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_FALSE(whole[0].duplicate);
  ASSERT_EQ(whole[0].params.size(), 1U);
  const std::vector<ParameterUse>& uses = whole[0].params[0].uses;
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(std::pair(uses[0].chunk, uses[0].layer), std::pair(0, 0));
  EXPECT_EQ(std::pair(uses[1].chunk, uses[1].layer), std::pair(0, 5));
  EXPECT_TRUE(!uses[0].written_in_forward && uses[1].written_in_forward);
  const auto first = tied_of(Stage(model, {3, 0, 1, {}}, 16));
  const auto last = tied_of(Stage(model, {3, 2, 1, {}}, 16));
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_TRUE(tied_of(Stage(model, {3, 1, 1, {}}, 16)).empty());
  EXPECT_FALSE(first[0].duplicate);
  EXPECT_TRUE(last[0].duplicate);
  EXPECT_EQ(first[0].elements, last[0].elements);
  EXPECT_EQ(first[0].params[0].offset, last[0].params[0].offset);
}

// The ranges summed over the tensor axis are all partial pieces, and contain no other elements that
// belong to one rank.
TEST(ParameterBlocks, PartialRangesAreThePartialPieces) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& grid) {
    for (const auto& stage : stages_of(model, grid))
      for (const ParameterBlock& block : lay_out_blocks(*stage, {})) {
        std::vector<int> parts(static_cast<std::size_t>(block.elements), 0);
        for (const PartialRange& partial : block.partial)
          for (std::int64_t i = partial.range.begin; i < partial.range.end; ++i) {
            EXPECT_EQ(parts[static_cast<std::size_t>(i)], 0) << "summed twice";
            parts[static_cast<std::size_t>(i)] = partial.parts;
          }
        for (const PlacedParameter& param : block.params)
          for (const Piece& piece : param.spec.pieces)
            for_each_run(intersect(piece, param.spec.shape, 0, param.spec.shape.elements()),
                         param.spec.shape, [&](std::int64_t at, std::int64_t, std::int64_t count) {
                           for (std::int64_t i = param.offset + at; i < param.offset + at + count;
                                ++i)
                             ASSERT_EQ(parts[static_cast<std::size_t>(i)],
                                       piece.partial ? grid.tensor / piece.copies : 0)
                                 << piece.name;
                         });
      }
  });
}

}  // namespace
}  // namespace triax::test
