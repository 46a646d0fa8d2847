// SPDX-License-Identifier: Apache-2.0
#include "src/config/lora/refused_keys.hpp"

#include <gmock/gmock.h>

namespace triax::test {
namespace {
using nlohmann::json;

std::vector<std::string> refused(const json& keys) {
  std::vector<LoraProblem> problems;
  refuse_not_built(keys, problems);
  std::vector<std::string> names;
  for (const LoraProblem& problem : problems) names.push_back(problem.key);
  return names;
}

TEST(RefusedLoraKeys, AreThoseThatSaySomething) {
  EXPECT_THAT(refused({{"lora_bias", true}, {"r", 4}, {"a_key_of_tomorrow", 1}}),
              testing::ElementsAre("lora_bias"));
  EXPECT_THAT(
      refused({{"lora_bias", false}, {"layer_replication", json::array()}, {"bias", "none"}}),
      testing::IsEmpty());
  EXPECT_THAT(refused({{"bias", "lora_only"}}), testing::ElementsAre("bias"));
}

TEST(RefusedLoraKeys, AVariantOfLoraIsRefusedEvenIfItIsNotKnown) {
  EXPECT_THAT(refused({{"velora_config", {{"groups", 2}}}}), testing::ElementsAre("velora_config"));
  EXPECT_THAT(refused({{"eva_config", {{"rho", 2}}}, {"loftq_config", json::object()}}),
              testing::IsEmpty());
}

}  // namespace
}  // namespace triax::test
