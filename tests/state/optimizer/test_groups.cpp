// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/groups.hpp"

#include <gmock/gmock.h>

#include "tests/state/stage_grid.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

OptimizerConfig with_groups(std::vector<OptimizerGroup> groups) {
  OptimizerConfig config;
  config.weight_decay = 0.1;
  config.groups = std::move(groups);
  return config;
}

TEST(Groups, TheFirstMatchCounts) {
  const auto config = with_groups({{"*.0.*", 0.5, {}}, {"*.bias", 2.0, 0.3}});
  EXPECT_EQ(tensor_options(config, "h.0.bias", false), (TensorOptions{0.5, 0.0}));
  EXPECT_EQ(tensor_options(config, "h.0.weight", true), (TensorOptions{0.5, 0.1}));
  EXPECT_EQ(tensor_options(config, "h.1.bias", false), (TensorOptions{2.0, 0.3}));
  EXPECT_EQ(tensor_options(config, "h.1.weight", true), (TensorOptions{1.0, 0.1}));
}

TEST(Groups, WithoutTensorsAreRefused) {
  const ModelConfig model = golden_model("llama-tiny");
  const auto error_with = [&](std::vector<OptimizerGroup> groups) {
    return error_of([&] { check_groups_match(with_groups(std::move(groups)), model); });
  };
  EXPECT_EQ(error_with({}), "");
  EXPECT_EQ(error_with({{"*.k_proj.weight"}, {"*"}}), "");
  EXPECT_THAT(error_with({{"*"}, {"*.k_prj.weight"}}),
              AllOf(HasSubstr("group 2, \"*.k_prj.weight\", has no tensor"),
                    HasSubstr("Nearest: model.layers.*.self_attn.k_proj.weight, ")));
  EXPECT_THAT(error_with({{"*"}, {"*.k_proj.weight"}}), HasSubstr("earlier groups match all"));
}

TEST(Groups, OfFrozenTensorsAloneAreRefused) {
  ModelConfig model = golden_model("llama-tiny");
  model.trainability.freeze = {"model.layers.0", "*norm.weight"};
  const auto error_with = [&](std::vector<OptimizerGroup> groups) {
    return error_of([&] { check_groups_match(with_groups(std::move(groups)), model); });
  };
  EXPECT_EQ(error_with({{"*.k_proj.weight"}, {"model.layers.1.*"}}), "");
  EXPECT_THAT(error_with({{"*"}, {"model.layers.0.*"}}),
              AllOf(HasSubstr("group 2, \"model.layers.0.*\", has no tensor"),
                    HasSubstr("all that it matches are frozen (9)")));
}

}  // namespace
}  // namespace triax::test
