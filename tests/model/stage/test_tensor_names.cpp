// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage/tensor_names.hpp"

#include <gmock/gmock.h>

#include "tests/model/small_models.hpp"

namespace triax::test {
namespace {

std::vector<std::string> nearest(const std::string& pattern, PatternOf of) {
  return nearest_tensor_names(pattern, small_model("qwen2"), of);
}

TEST(TensorNames, TheNearestTensorComesFirst) {
  EXPECT_EQ(nearest("*.k_prj.weight", PatternOf::tensors).front(),
            "model.layers.*.self_attn.k_proj.weight");
  EXPECT_EQ(nearest("model.layers.0.mlp.up_proj.weigth", PatternOf::tensors).front(),
            "model.layers.*.mlp.up_proj.weight");
  EXPECT_EQ(nearest("", PatternOf::tensors).size(), 3U);
}

TEST(TensorNames, ModulesCountWhereAPatternStandsForThem) {
  EXPECT_EQ(nearest("model.layer.*.mlp", PatternOf::modules).front(), "model.layers.*.mlp");
  EXPECT_EQ(nearest("model.embed_token", PatternOf::modules).front(), "model.embed_tokens");
  EXPECT_EQ(nearest("model.embed_token", PatternOf::tensors).front(), "model.embed_tokens.weight");
}

}  // namespace
}  // namespace triax::test
