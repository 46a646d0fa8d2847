// SPDX-License-Identifier: Apache-2.0
#include "src/model/block/projections.hpp"

#include <gmock/gmock.h>

#include "tests/model/small_models.hpp"

namespace triax::test {
namespace {

using testing::Each;
using testing::Ge;
using testing::HasSubstr;

TEST(HeadShard, CoversEveryHeadOnceWithItsKeysAndValues) {
  ModelConfig model;
  for (const auto& [heads, kv_heads] : {std::pair{12, 12}, {12, 6}, {12, 2}, {12, 1}, {8, 4}})
    for (const int size : {1, 2, 3, 4, 6, 8, 12}) {
      model.heads = heads;
      model.kv_heads = kv_heads;
      if (heads % size != 0 || (kv_heads % size != 0 && size % kv_heads != 0)) continue;
      SCOPED_TRACE(testing::Message()
                   << heads << " heads, " << kv_heads << " key/value heads, " << size << " ranks");
      std::vector<int> queries(static_cast<std::size_t>(heads), 0),
          keys(static_cast<std::size_t>(kv_heads), 0);
      for (int rank = 0; rank < size; ++rank) {
        const HeadShard shard = head_shard(model, {size, rank, false});
        for (int h = 0; h < shard.heads; ++h) {
          const int head = shard.first_head + h;
          ++queries[static_cast<std::size_t>(head)];
          // The key head that the local query head uses is the one that the global query head uses.
          EXPECT_EQ(shard.first_kv + h / (shard.heads / shard.kv_heads), head / (heads / kv_heads));
        }
        for (int k = 0; k < shard.kv_heads; ++k)
          ++keys[static_cast<std::size_t>(shard.first_kv + k)];
        EXPECT_EQ(shard.kv_copies, std::max(1, size / kv_heads));
      }
      EXPECT_THAT(queries, Each(1));
      EXPECT_THAT(keys, Each(std::max(1, size / kv_heads)));
    }
}

TEST(HeadShard, WhatDoesNotDivideIsTheUsersError) {
  const auto error = [](int heads, int kv_heads, int size) -> std::string {
    ModelConfig model;
    model.heads = heads;
    model.kv_heads = kv_heads;
    try {
      head_shard(model, {size, 0, false});
    } catch (const UsageError& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_THAT(error(12, 12, 5), HasSubstr("12 attention heads"));
  EXPECT_THAT(error(12, 6, 4), HasSubstr("6 key/value heads"));
  EXPECT_THAT(error(12, 12, 5), HasSubstr("parallel.tensor"));
  EXPECT_EQ(error(12, 3, 6), "");
}

TEST(Projections, HaveTheWidthsOfTheModel) {
  for (const std::string architecture : {"gpt2", "llama", "qwen2"}) {
    const ModelConfig model = small_model(architecture);
    const bool gated = architecture != "gpt2";
    const AdaptedLinear qkv = qkv_projection(model, 0, {});
    EXPECT_EQ(qkv.outputs(), (model.heads + 2 * model.kv_heads) * model.head_size);
    EXPECT_EQ(qkv.has_bias(), model.qkv_bias);
    EXPECT_EQ(attention_output(model, 0, {}).inputs(), model.heads * model.head_size);
    EXPECT_EQ(mlp_input(model, 0, {}).outputs(), (gated ? 2 : 1) * model.intermediate);
    EXPECT_EQ(mlp_output(model, 0, {}).inputs(), model.intermediate);
    EXPECT_EQ(mlp_output(model, 0, {}).has_bias(), !gated);
  }
}

}  // namespace
}  // namespace triax::test
