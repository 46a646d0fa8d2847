// SPDX-License-Identifier: Apache-2.0
#include "src/config/rope_kinds.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "src/config/model/huggingface.hpp"

namespace triax {
namespace {
using nlohmann::json;
using testing::HasSubstr;

// Numbers that transformers computes in float32 (tests/golden/make_rope.py).
class RopeGolden : public testing::Test {
 protected:
  json file_ = json::parse(std::ifstream(TRIAX_SOURCE_DIR "/tests/golden/rope.json"));

  // Compares a case with transformers' numbers.
  void expect_golden(const json& golden, const ModelConfig& model) const {
    const RopeAngles angles = rope_angles(model, golden.at("length"));
    const auto frequencies = golden.at("frequencies").get<std::vector<double>>();
    const double factor = golden.at("factor");
    const double position = file_.at("position");
    EXPECT_NEAR(angles.factor, factor, 1e-12 * factor);
    ASSERT_EQ(angles.frequencies.size(), frequencies.size());
    for (std::size_t d = 0; d < frequencies.size(); ++d) {
      const double frequency = angles.frequencies[d];
      EXPECT_NEAR(frequency, frequencies[d], 1e-6 * frequencies[d]) << d;
      EXPECT_NEAR(angles.factor * std::cos(position * frequency), golden.at("cosines").at(d), 1e-6);
      EXPECT_NEAR(angles.factor * std::sin(position * frequency), golden.at("sines").at(d), 1e-6);
    }
  }
};

TEST_F(RopeGolden, AnglesAreThoseOfTransformers) {
  std::set<std::string> kinds;
  for (const json& golden : file_.at("cases")) {
    SCOPED_TRACE(golden.at("name"));
    const ModelConfig model = model_from_huggingface(golden.at("config").dump(), "config.json");
    expect_golden(golden, model);
    kinds.insert(model.rope_scaling.type);
  }
  for (const RopeKind& kind : rope_kinds()) EXPECT_TRUE(kinds.contains(kind.name)) << kind.name;
}

// An exported config.json, and the one in a checkpoint, gives the same angles.
TEST_F(RopeGolden, AnglesSurviveExport) {
  for (const json& golden : file_.at("cases")) {
    SCOPED_TRACE(golden.at("name"));
    const ModelConfig model = model_from_huggingface(golden.at("config").dump(), "config.json");
    const ModelConfig again = model_from_huggingface(huggingface_config(model), "config.json");
    EXPECT_EQ(again.rope_scaling, model.rope_scaling);
    expect_golden(golden, again);
  }
}

// Llama 3.2 in float64: some pairs unchanged, some a little slower, some divided by 32.
TEST(RopeKinds, SlowPairsOfLlama3InDoublePrecision) {
  ModelConfig model;
  model.rope_theta = 500000.0;
  model.rope_scaling = {"llama3", 32.0, 1.0, 4.0, 8192};
  const std::pair<std::size_t, double> expected[] = {{0, 1.0},
                                                     {14, 0.0032114459947525913},
                                                     {15, 0.0012905479282092638},
                                                     {16, 0.00042955679655936815},
                                                     {17, 9.70828780262767e-05},
                                                     {18, 1.9461638184831125e-05},
                                                     {31, 9.418306725434909e-08}};
  const std::vector<double> found = rope_angles(model, 1).frequencies;
  ASSERT_EQ(found.size(), 32U);
  for (const auto& [d, frequency] : expected)
    EXPECT_NEAR(found[d], frequency, 1e-13 * frequency) << d;
}

TEST(RopeKinds, LengthMattersToSome) {
  ModelConfig model;
  EXPECT_EQ(rope_effect_of_length(model, 5000), "");
  EXPECT_EQ(longest_sequence(model), 1024);
  model.rope_scaling = {"dynamic", 2.0};
  EXPECT_EQ(rope_effect_of_length(model, 1024),
            "sequences of 1024 tokens are within max_position_embeddings 1024: no change");
  EXPECT_EQ(rope_effect_of_length(model, 2048),
            "sequences of 2048 tokens are beyond max_position_embeddings 1024: rope_theta 10000 "
            "acts as 31082.2");
  EXPECT_GT(longest_sequence(model), 1'000'000);
  EXPECT_EQ(rope_angles(model, 1), rope_angles(model, 1024));
  EXPECT_LT(rope_angles(model, 2048).frequencies[1], rope_angles(model, 1024).frequencies[1]);
  model.rope_scaling = {.type = "longrope",
                        .original_positions = 512,
                        .short_factor = std::vector(32, 1.0),
                        .long_factor = std::vector(32, 4.0)};
  EXPECT_THAT(rope_effect_of_length(model, 512), HasSubstr("within original_max_position_"
                                                           "embeddings 512: short_factor applies"));
  EXPECT_THAT(rope_effect_of_length(model, 513), HasSubstr("beyond original_max_position_"
                                                           "embeddings 512: long_factor applies"));
  EXPECT_EQ(longest_sequence(model), 1024);
}

TEST(RopeKinds, KeysStandOnce) {
  std::set<std::string> names;
  for (const RopeKey* key : rope_keys()) EXPECT_TRUE(names.insert(key->name).second) << key->name;
  EXPECT_EQ(names.size(), 12U);
}

}  // namespace
}  // namespace triax
