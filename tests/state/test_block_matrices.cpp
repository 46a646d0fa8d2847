// SPDX-License-Identifier: Apache-2.0
#include "src/state/block_matrices.hpp"

#include <algorithm>
#include <set>

#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

// Each trained matrix of the blocks is in one bucket of matrices, whole, and nothing else is.
TEST(BlockMatrices, AreTheLinearMapsOfBlocks) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& grid) {
    std::set<std::string> expected, found;
    for (const GlobalTensor& tensor : global_tensors(model))
      if (tensor.matrix) expected.insert(tensor.name);
    for (const auto& stage : stages_of(model, grid))
      for (const ParameterBlock& block : lay_out_blocks(*stage, {.matrices_apart = true})) {
        for (const PlacedParameter& param : block.params)
          EXPECT_EQ(block.matrices, param.spec.matrix) << param.spec.label;
        if (!block.matrices) continue;
        for (const PlacedParameter& param : block.params)
          for (const BlockMatrix& matrix : matrices_of(param)) {
            found.insert(matrix.pieces.front()->name);
            EXPECT_EQ(matrix.global, matrix.pieces.front()->global);
          }
      }
    EXPECT_EQ(found, expected);
    EXPECT_FALSE(expected.contains("lm_head.weight"));
    EXPECT_FALSE(expected.contains("model.embed_tokens.weight"));
  });
}

// Over the tensor ranks, the owners' pieces of a matrix cover each of its elements once.
TEST(BlockMatrices, AreOwnedOncePerElement) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& grid) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> elements;  // owned, of the whole
    for (const auto& stage : stages_of(model, grid))
      for (const ParameterBlock& block : lay_out_blocks(*stage, {.matrices_apart = true}))
        for (const PlacedParameter& param : block.params)
          if (block.matrices)
            for (const BlockMatrix& matrix : matrices_of(param))
              for (const Piece* piece : matrix.pieces) {
                auto& [owned, whole] = elements[piece->name];
                if (piece->owner) owned += piece->extent.elements();
                whole = matrix.global.elements();
              }
    for (const auto& [name, counts] : elements) EXPECT_EQ(counts.first, counts.second) << name;
  });
}

TEST(BlockMatrices, HaveTheSameOwnersOnAllTensorRanks) {
  const ModelConfig model = divisible_model("llama", false);
  std::set<std::vector<int>> owners;
  for (const auto& stage : stages_of(model, {.tensor = 3}))
    for (const ParameterBlock& block : lay_out_blocks(*stage, {.size = 3, .matrices_apart = true}))
      if (block.matrices) owners.insert(matrix_owners(block, 3));
  ASSERT_EQ(owners.size(), 1U);
  for (const int owner : *owners.begin()) EXPECT_LT(owner, 3);
  EXPECT_EQ(std::set<int>(owners.begin()->begin(), owners.begin()->end()).size(), 3U)
      << "each rank has some of four parameters";
}

TEST(BlockMatrices, OfOneRankAreItsOwn) {
  const Stage stage(golden_model("gpt2-tiny"), {}, 16);
  for (const ParameterBlock& block : lay_out_blocks(stage, {.matrices_apart = true}))
    if (block.matrices) {
      EXPECT_EQ(matrix_owners(block, 1), std::vector<int>(block.params.size(), 0));
    }
}

}  // namespace
}  // namespace triax::test
