// SPDX-License-Identifier: Apache-2.0
// Shards, initial values and dropout of one adapter. Its products are seen through AdaptedLinear.
#include "src/model/adapter/low_rank.hpp"

#include "tests/model/layer_run.hpp"

namespace triax::test {
namespace {

LoraConfig lora(int rank, LoraStart start = LoraStart::usual) {
  LoraConfig made;
  made.modules["m"] = {rank, 2.0 * rank, 2.0};
  made.start = start;
  return made;
}

TEST(LowRank, OfAColumnParallelMapHasAWholeAAndAShardOfB) {
  const LowRank adapter = LowRank::column(
      lora(3), "map", 6, {{"m.weight", "", 12, 2, 2, 0}, {"m.weight", "", 12, 1, 1, 8, 2, false}},
      4, {2, 1, true});
  const ParameterSpec &a = adapter.params()[0], &b = adapter.params()[1];
  EXPECT_EQ(a.shape, (Shape{3, 6}));
  EXPECT_EQ(a.pieces[0].name, "m.lora_A.weight");
  EXPECT_EQ(a.pieces[0].copies, 2);
  EXPECT_TRUE(a.pieces[0].partial);
  EXPECT_FALSE(a.pieces[0].owner);
  EXPECT_EQ(b.shape, (Shape{3, 3}));
  ASSERT_EQ(b.pieces.size(), 2U);
  EXPECT_EQ(b.pieces[0].name, "m.lora_B.weight");
  EXPECT_EQ(b.pieces[0].global, (Shape{12, 3}));
  EXPECT_EQ(b.pieces[0].begin, (Shape{2, 0}));
  EXPECT_FALSE(b.pieces[0].partial);
  EXPECT_EQ(b.pieces[1].begin, (Shape{9, 0}));
  EXPECT_EQ(b.pieces[1].at, (Shape{2, 0}));
  EXPECT_TRUE(b.pieces[1].partial);  // a key/value head of two ranks
  EXPECT_TRUE(a.adapter && b.adapter);
}

TEST(LowRank, OfARowParallelMapHasAShardOfAAndAWholeB) {
  const LowRank adapter = LowRank::row(lora(3), "map", {"m.weight", "", 8, 5, 3}, 7, {2, 1, false});
  const ParameterSpec &a = adapter.params()[0], &b = adapter.params()[1];
  EXPECT_EQ(a.shape, (Shape{3, 3}));
  EXPECT_EQ(a.pieces[0].global, (Shape{3, 8}));
  EXPECT_EQ(a.pieces[0].begin, (Shape{0, 5}));
  EXPECT_FALSE(a.pieces[0].partial);
  EXPECT_EQ(b.shape, (Shape{7, 3}));
  EXPECT_TRUE(b.pieces[0].partial);
  EXPECT_EQ(b.pieces[0].copies, 2);
}

TEST(LowRank, StartsAsPeftDoes) {
  const auto of = [](LoraStart start) {
    return LowRank::column(lora(4, start), "map", 16, {{"m.weight", "", 5, 0, 5}}, 0, {}).params();
  };
  const auto usual = of(LoraStart::usual);
  EXPECT_EQ(usual[0].initial, Initial::uniform);
  EXPECT_FLOAT_EQ(usual[0].deviation, 0.25F);  // 1 / sqrt(inputs)
  EXPECT_EQ(usual[1].initial, Initial::zero);
  const auto gaussian = of(LoraStart::gaussian);
  EXPECT_EQ(gaussian[0].initial, Initial::normal);
  EXPECT_FLOAT_EQ(gaussian[0].deviation, 0.25F);  // 1 / r
  EXPECT_EQ(gaussian[1].initial, Initial::zero);
  const auto random = of(LoraStart::random);
  EXPECT_EQ(random[1].initial, Initial::uniform);
  EXPECT_FLOAT_EQ(random[1].deviation, 0.5F);  // 1 / sqrt(r)
}

TEST(LowRank, ModulesAreNamedWithoutTheirWeight) {
  EXPECT_EQ(module_of("model.layers.0.mlp.up_proj.weight"), "model.layers.0.mlp.up_proj");
}

}  // namespace
}  // namespace triax::test
