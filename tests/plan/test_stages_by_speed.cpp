// SPDX-License-Identifier: Apache-2.0
#include "src/plan/stages_by_speed.hpp"

#include <gmock/gmock.h>

#include "tests/model/small_models.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;

TEST(StagesBySpeed, NoiseIsNoDifference) {
  EXPECT_THAT(relative_speeds({98e9, 100e9, 96e9}), ElementsAre(1.0, 1.0, 1.0));
  EXPECT_THAT(relative_speeds({100e9, 50e9}), ElementsAre(1.0, 0.5));
  EXPECT_THAT(relative_speeds({90e9, 100e9, 99e9}), ElementsAre(0.9, 1.0, 1.0));
}

TEST(StagesBySpeed, AStageHasItsSpeedInEachOfItsChunks) {
  Config config;
  config.model = small_model("gpt2");
  config.model.layers = 12;
  config.model.vocabulary = 1;
  config.data.sequence_length = 16;
  config.parallel.pipeline = 2;
  EXPECT_THAT(blocks_by_speed(config, {1.0, 1.0}), ElementsAre(6, 6));
  EXPECT_THAT(blocks_by_speed(config, {0.5, 1.0}), ElementsAre(4, 8));
  config.parallel.chunks = 2;
  EXPECT_THAT(blocks_by_speed(config, {0.5, 1.0}), ElementsAre(2, 4, 2, 4));
}

}  // namespace
}  // namespace triax::test
