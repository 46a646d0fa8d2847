// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/adapter_facts.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "kernels/base/check.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::string adapter_of(const std::string& golden) {
  return read_golden(golden).directory + "/adapter";
}

TEST(AdapterFacts, HaveEveryModule) {
  const AdapterFacts facts = adapter_facts(adapter_of("llama-lora"));
  ASSERT_EQ(facts.modules.size(), 28U);
  EXPECT_EQ(facts.type, DType::f32);
  std::int64_t parameters = 0;
  for (const AdaptedModule& module : facts.modules) {
    EXPECT_EQ(module.rank, 3);
    EXPECT_DOUBLE_EQ(module.scale, 5.0 / std::sqrt(3.0));
    EXPECT_GT(module.a_norm, 0.0);
    EXPECT_TRUE(module.finite);
    parameters += module.rank * (module.inputs + module.outputs);
  }
  EXPECT_EQ(facts.parameters, parameters);
  EXPECT_THAT(facts.others, IsEmpty());
}

TEST(AdapterFacts, ScaleByPattern) {
  for (const AdaptedModule& module : adapter_facts(adapter_of("gpt2-lora")).modules)
    if (module.name == "transformer.h.0.mlp.c_proj") {
      EXPECT_DOUBLE_EQ(module.scale, 3.0 / 4.0);
    }
}

TEST(AdapterFacts, CountModulesThatWereTrainedWholeAndMagnitudes) {
  const AdapterFacts saved = adapter_facts(adapter_of("llama-saved"));
  EXPECT_EQ(saved.saved.size(), 11U);  // embedding, head, nine norms
  EXPECT_EQ(saved.saved.front().name, "lm_head.weight");
  EXPECT_EQ(saved.saved.front().shape, (Shape{67, 32}));
  EXPECT_GT(saved.saved.front().norm, 0.0);
  std::int64_t parameters = 2 * 67 * 32 + 9 * 32;
  for (const AdaptedModule& module : saved.modules) {
    parameters += module.rank * (module.inputs + module.outputs);
    EXPECT_FALSE(module.magnitude_norm);
  }
  EXPECT_EQ(saved.parameters, parameters);
  const AdapterFacts dora = adapter_facts(adapter_of("gpt2-dora"));
  parameters = 0;
  for (const AdaptedModule& module : dora.modules) {
    parameters += module.rank * (module.inputs + module.outputs) + module.outputs;
    EXPECT_GT(module.magnitude_norm.value_or(0.0), 0.0);
  }
  EXPECT_EQ(dora.parameters, parameters);
  for (const AdapterFacts& facts : {saved, dora}) EXPECT_THAT(facts.others, IsEmpty());
}

TEST(AdapterFacts, EqualAdaptersHaveNoDifference) {
  EXPECT_THAT(adapter_diff(adapter_of("gpt2-lora"), adapter_of("gpt2-lora")), IsEmpty());
  const auto lines = adapter_diff(adapter_of("gpt2-lora"), adapter_of("llama-lora"));
  EXPECT_THAT(lines, Contains(HasSubstr("r: 4 and 3")));
  EXPECT_THAT(lines, Contains(HasSubstr("only in " + adapter_of("llama-lora"))));
}

TEST(AdapterFacts, AFolderWithoutAnAdapterIsNamed) {
  const TempDirectory dir;
  EXPECT_THAT(error_of([&] { adapter_facts(dir.path()); }), HasSubstr("holds no adapter"));
}

}  // namespace
}  // namespace triax::test
