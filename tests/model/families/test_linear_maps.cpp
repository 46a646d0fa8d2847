// SPDX-License-Identifier: Apache-2.0
#include "src/model/families/linear_maps.hpp"

#include <gmock/gmock.h>

#include "tests/model/small_models.hpp"

namespace triax::test {
namespace {
using testing::Contains;
using testing::ElementsAre;

TEST(LinearMaps, AreTheModulesOfABlock) {
  EXPECT_THAT(linear_maps(small_model("llama"), 1),
              ElementsAre("model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.k_proj",
                          "model.layers.1.self_attn.v_proj", "model.layers.1.self_attn.o_proj",
                          "model.layers.1.mlp.gate_proj", "model.layers.1.mlp.up_proj",
                          "model.layers.1.mlp.down_proj"));
  EXPECT_THAT(linear_maps(small_model("gpt2"), 0),
              ElementsAre("transformer.h.0.attn.c_attn", "transformer.h.0.attn.c_proj",
                          "transformer.h.0.mlp.c_fc", "transformer.h.0.mlp.c_proj"));
}

TEST(LinearMaps, OtherModulesAreEmbeddingsHeadAndNorms) {
  const auto modules = other_modules(small_model("gpt2"));
  for (const char* name : {"transformer.wte", "transformer.wpe", "transformer.ln_f", "lm_head",
                           "transformer.h.1.ln_2"})
    EXPECT_THAT(modules, Contains(name));
}

TEST(LinearMaps, UsualTargetsAreThoseOfPeft) {
  EXPECT_THAT(usual_adapter_targets(small_model("qwen2")), ElementsAre("q_proj", "v_proj"));
  EXPECT_THAT(usual_adapter_targets(small_model("gpt2")), ElementsAre("c_attn"));
  EXPECT_THAT(usual_adapter_targets(small_model("gpt_neox")), ElementsAre("query_key_value"));
}

}  // namespace
}  // namespace triax::test
