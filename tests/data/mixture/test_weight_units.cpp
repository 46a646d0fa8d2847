// SPDX-License-Identifier: Apache-2.0
#include "src/data/mixture/weight_units.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <random>

namespace triax::test {
namespace {

using testing::ElementsAre;
using Units = std::vector<std::int64_t>;

Units units_of(const std::vector<double>& weights) {
  return weight_units({weights}).front();
}

TEST(WeightUnits, AreTheDecimalNumbersOfTheJob) {
  EXPECT_THAT(units_of({0.7, 0.3}), ElementsAre(7, 3));
  EXPECT_THAT(units_of({0.1, 0.2, 0.3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(units_of({70, 30}), ElementsAre(7, 3));
  EXPECT_THAT(units_of({1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(units_of({5}), ElementsAre(1));
  EXPECT_THAT(units_of({0.25, 1e-7}), ElementsAre(2'500'000, 1));
  EXPECT_THAT(units_of({1e300, 3e300, 0}), ElementsAre(1, 3, 0));
  EXPECT_THAT(units_of({1'234'567'890'123, 987'654'321'000}),
              ElementsAre(1'234'567'890'123 / 3, 987'654'321'000 / 3));
}

TEST(WeightUnits, HaveOneSumInAllPhases) {
  EXPECT_THAT(weight_units({{0.7, 0.3}, {1, 2}, {1, 0}}),
              ElementsAre(ElementsAre(21, 9), ElementsAre(10, 20), ElementsAre(30, 0)));
}

// Weights of too many digits for a common sum are rounded, each by less than 2^-50, but for the
// largest, which makes up for them. None becomes 0.
TEST(WeightUnits, OfManyDigitsAreRounded) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> weight(0.0, 1.0);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::vector<double>> phases(2);
    for (auto& weights : phases)
      for (int i = 0; i < 5; ++i) weights.push_back(weight(random));
    phases[1][2] = 1e-200;
    const auto units = weight_units(phases);
    for (std::size_t p = 0; p < 2; ++p) {
      const double sum = std::accumulate(phases[p].begin(), phases[p].end(), 0.0);
      EXPECT_EQ(std::accumulate(units[p].begin(), units[p].end(), std::int64_t{0}),
                most_blend_units);
      for (std::size_t i = 0; i < 5; ++i)
        EXPECT_NEAR(static_cast<double>(units[p][i]) / std::ldexp(1.0, 52), phases[p][i] / sum,
                    std::ldexp(1.0, -49));
    }
    EXPECT_EQ(units[1][2], 1);
  }
}

DataConfig two_sources() {
  DataConfig data;
  data.sources = {{1, {{0.7, 100}, {0.2, 0}}}, {1, {{0.3, 50}, {0.8, 0}}}};
  return data;
}

TEST(WeightUnits, OfAStep) {
  const DataConfig data = two_sources();
  EXPECT_EQ(weight_at(data.sources[0], 0), 0.7);
  EXPECT_EQ(weight_at(data.sources[0], 99), 0.7);
  EXPECT_EQ(weight_at(data.sources[0], 100), 0.2);
  EXPECT_EQ(weight_at(data.sources[1], 1'000'000'000'000), 0.8);
}

TEST(BlendPhases, BeginWithTheFirstSampleOfTheirStep) {
  // 0.7 : 0.3, then 0.7 : 0.8, then 0.2 : 0.8
  EXPECT_THAT(
      blend_phases(two_sources(), 0, 0, 8),
      ElementsAre(BlendPhase{0, {21, 9}}, BlendPhase{400, {14, 16}}, BlendPhase{800, {6, 24}}));
}

TEST(BlendPhases, OfARunThatGoesOnBeginThere) {
  EXPECT_THAT(blend_phases(two_sources(), 30, 1000, 16),
              ElementsAre(BlendPhase{1000, {21, 9}}, BlendPhase{1320, {14, 16}},
                          BlendPhase{2120, {6, 24}}));
  EXPECT_THAT(blend_phases(two_sources(), 50, 1000, 16),
              ElementsAre(BlendPhase{1000, {14, 16}}, BlendPhase{1800, {6, 24}}));
  EXPECT_THAT(blend_phases(two_sources(), 100, 7, 16), ElementsAre(BlendPhase{7, {6, 24}}));
}

TEST(BlendPhases, ThatNoRunReachesAreLeftOut) {
  DataConfig data = two_sources();
  data.sources[0].weights[0].until_step = std::int64_t{1} << 62;
  EXPECT_EQ(blend_phases(data, 0, 0, 1'000'000'000'000).size(), 2U);
}

TEST(BlendPhases, FromASampleOnAreInLowestTerms) {
  const std::vector<BlendPhase> phases = {{0, {21, 9}}, {400, {14, 16}}, {800, {6, 24}}};
  EXPECT_THAT(phases_from(phases, 0),
              ElementsAre(BlendPhase{0, {7, 3}}, BlendPhase{400, {7, 8}}, BlendPhase{800, {1, 4}}));
  EXPECT_THAT(
      phases_from(phases, 399),
      ElementsAre(BlendPhase{399, {7, 3}}, BlendPhase{400, {7, 8}}, BlendPhase{800, {1, 4}}));
  EXPECT_THAT(phases_from(phases, 400),
              ElementsAre(BlendPhase{400, {7, 8}}, BlendPhase{800, {1, 4}}));
  EXPECT_THAT(phases_from(phases, 900), ElementsAre(BlendPhase{900, {1, 4}}));
}

}  // namespace
}  // namespace triax::test
