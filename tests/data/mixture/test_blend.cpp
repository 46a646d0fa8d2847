// SPDX-License-Identifier: Apache-2.0
#include "src/data/mixture/blend.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Units = std::vector<std::int64_t>;

std::vector<std::size_t> taken(BlendCursor cursor, int count) {
  std::vector<std::size_t> sources;
  for (int i = 0; i < count; ++i) sources.push_back(cursor.next());
  return sources;
}

// `sources` random units with the sum `sum`, some of them 0.
Units random_units(std::mt19937_64& random, std::size_t sources, std::int64_t sum) {
  Units units(sources, 0);
  std::int64_t left = sum;
  for (std::size_t i = 0; i + 1 < sources; ++i) {
    const std::int64_t most = random() % 3 == 0 ? left : left / 4;
    units[i] = random() % 5 == 0
                   ? 0
                   : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    left -= units[i];
  }
  units.back() = left;
  std::shuffle(units.begin(), units.end(), random);
  return units;
}

// Takes `count` samples. After each, every count is within one sample of its share, and not one
// whole sample off. The sums of units stay within 64 bits.
void expect_within_one_sample(const Blend& blend, int count) {
  BlendCursor cursor(blend);
  Units shares(blend.sources(), 0);
  std::size_t phase = 0;
  for (int i = 0; i < count; ++i) {
    const std::int64_t sample = blend.begin() + i;
    while (phase + 1 < blend.phases().size() && blend.phases()[phase + 1].begin <= sample) ++phase;
    cursor.next();
    ASSERT_EQ(cursor.sample(), sample + 1);
    for (std::size_t s = 0; s < shares.size(); ++s) {
      shares[s] += blend.phases()[phase].units[s];
      const std::int64_t off = shares[s] - cursor.count(s) * blend.unit();
      ASSERT_LT(std::abs(off), blend.unit()) << "source " << s << " after sample " << sample;
    }
  }
}

TEST(Blend, TakesTheSourceThatMustComeSoonest) {
  EXPECT_THAT(taken(BlendCursor(Blend({{0, {2, 1}}})), 0), ElementsAre());
  const Blend thirds({{0, {2, 1}}});
  EXPECT_THAT(taken(BlendCursor(thirds), 7), ElementsAre(0, 0, 1, 0, 0, 1, 0));
  const Blend halves({{5, {1, 1}}});
  EXPECT_THAT(taken(BlendCursor(halves), 4), ElementsAre(0, 1, 0, 1));
  const Blend one(std::vector<BlendPhase>{{0, {1}}});
  EXPECT_THAT(taken(BlendCursor(one), 3), ElementsAre(0, 0, 0));
}

TEST(Blend, IsWithinOneSampleOfEveryShare) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const std::size_t sources = 1 + random() % 12;
    const std::int64_t sum = 1 + static_cast<std::int64_t>(random() % (round % 2 ? 40 : 1'000'000));
    const Blend blend(
        {{static_cast<std::int64_t>(random() % 1000), random_units(random, sources, sum)}});
    expect_within_one_sample(blend, 2000);
    if (HasFatalFailure()) return;
  }
}

// Weights with which the rule "largest error first" comes to be 1.37 samples off.
TEST(Blend, IsWithinOneSampleWhereLargestErrorFirstIsNot) {
  expect_within_one_sample(Blend({{0, {1, 50, 1, 1, 50, 1, 50, 5, 1, 50, 5}}}), 1000);
}

// Phases of one sample and of hundreds, in which sources come and go.
TEST(Blend, IsWithinOneSampleWhereverWeightsChange) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const std::size_t sources = 2 + random() % 10;
    const std::int64_t sum = 1 + static_cast<std::int64_t>(random() % 1000);
    std::vector<BlendPhase> phases;
    for (std::int64_t begin = 3; begin < 1500;
         begin += 1 + static_cast<std::int64_t>(random() % (round % 2 ? 3 : 300)))
      phases.push_back({begin, random_units(random, sources, sum)});
    expect_within_one_sample(Blend(std::move(phases)), 2000);
    if (HasFatalFailure()) return;
  }
}

TEST(Blend, OfTheLargestSumIsExact) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    const Blend blend({{0, random_units(random, 7, most_blend_units)},
                       {500, random_units(random, 7, most_blend_units)}});
    expect_within_one_sample(blend, 1000);
    if (HasFatalFailure()) return;
  }
}

// After any number of periods the order is that of the first one: no drift.
TEST(Blend, GoesOnAtAnyPositionAsFromTheStart) {
  std::mt19937_64 random(4);
  const Units units = {4001, 2999, 17, 1983, 1000};
  const std::int64_t period = std::accumulate(units.begin(), units.end(), std::int64_t{0});
  const Blend blend({{0, units}});
  for (const std::int64_t periods :
       {std::int64_t{1}, std::int64_t{100'000'000}, std::int64_t{1} << 45}) {
    BlendCursor straight(blend);
    const auto skipped = static_cast<int>(random() % 20'000);
    for (int i = 0; i < skipped; ++i) straight.next();
    Units counts;
    for (std::size_t s = 0; s < units.size(); ++s)
      counts.push_back(periods * units[s] + straight.count(s));
    const BlendCursor later(blend, periods * period + skipped, counts);
    EXPECT_EQ(taken(later, 20'000), taken(straight, 20'000)) << periods << " periods";
  }
}

TEST(Blend, GoesOnInThePhasesThatFollow) {
  std::mt19937_64 random(5);
  const Blend blend({{10, {3, 3, 4}}, {100, {9, 0, 1}}, {101, {0, 5, 5}}, {400, {1, 1, 8}}});
  BlendCursor straight(blend);
  const auto all = taken(straight, 600);
  for (int i = 0; i < 600; ++i) {
    Units counts;
    for (std::size_t s = 0; s < 3; ++s) counts.push_back(straight.count(s));
    EXPECT_EQ(taken(BlendCursor(blend, straight.sample(), counts), 600 - i),
              (std::vector<std::size_t>(all.begin() + i, all.end())))
        << "from sample " << straight.sample();
    straight.next();
  }
}

TEST(Blend, RefusesCountsThatItNeverHas) {
  const Blend blend({{10, {7, 3}}});
  EXPECT_NO_THROW(BlendCursor(blend, 20, {7, 3}));
  for (const Units& counts : {Units{8, 2}, Units{6, 3}, Units{7, 4}, Units{11, -1}, Units{0, 10}})
    EXPECT_THAT(error_of([&] { BlendCursor(blend, 20, counts); }),
                HasSubstr("do not fit the weights"));
}

TEST(Blend, TellsSharesOfRanges) {
  const Blend blend({{10, {7, 3}}, {20, {1, 9}}});
  EXPECT_DOUBLE_EQ(blend.share(0, 10, 20), 7.0);
  EXPECT_DOUBLE_EQ(blend.share(1, 15, 30), 10.5);
  EXPECT_DOUBLE_EQ(blend.share(0, 30, 1'000'000'000'030), 1e11);
}

}  // namespace
}  // namespace triax::test
