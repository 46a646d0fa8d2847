// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/load_round.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/io/load_offers.hpp"

namespace triax {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Kind = LoadPlace::Kind;

constexpr LoadPlace shared_at(std::int64_t byte) {
  return {Kind::shared, byte};
}
constexpr LoadPlace own(std::int64_t duty) {
  return {Kind::own, duty};
}

// Plans of all ranks for the first round.
std::vector<LoadRound> plan(const Offers& offers, const LoadNodes& nodes) {
  std::vector<LoadRound> rounds;
  for (int rank = 0; rank < std::ssize(offers); ++rank) {
    LoadPlanner planner = planner_of(nodes, rank);
    planner.offer(padded(offers), width);
    rounds.push_back(planner.next());
  }
  return rounds;
}

// Each accepted chunk is read once, reaches every node that needs it, and is sent nowhere else.
void expect_each_once(const Offers& offers, const LoadNodes& nodes) {
  const std::vector<LoadRound> rounds = plan(offers, nodes);
  std::map<std::int64_t, std::set<int>> needed, brought;  // chunk -> nodes
  std::map<std::int64_t, int> reads;
  std::set<std::tuple<int, int, std::int64_t>> sent, awaited;  // from, to, chunk
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    for (std::size_t i = 0; i < rounds[r].places.size(); ++i)
      needed[offers[r][i]].insert(nodes.node_of[r]);
    const int rank = static_cast<int>(r);
    for (const LoadDuty& duty : rounds[r].duties) {
      EXPECT_TRUE(brought[duty.block].insert(nodes.node_of[r]).second);
      EXPECT_THAT(offers[r], testing::Contains(duty.block)) << "one that needs it";
      if (duty.from < 0)
        ++reads[duty.block];
      else
        awaited.insert({duty.from, rank, duty.block});
      for (const int to : duty.to) sent.insert({rank, to, duty.block});
    }
  }
  EXPECT_EQ(brought, needed);
  EXPECT_EQ(sent, awaited);
  for (const auto& [block, ignored] : needed) EXPECT_EQ(reads[block], 1) << block;
}

TEST(LoadRound, WithoutOffersIsEmpty) {
  const LoadRound round = plan({{}, {}}, {{0, 0}, {100}, {0}}).front();
  EXPECT_TRUE(round.empty);
  EXPECT_THAT(round.duties, IsEmpty());
}

TEST(LoadRound, RanksOfANodeShareOutWhatAllNeed) {
  const auto rounds = plan({{1, 2, 3, 4}, {1, 2, 3, 4}}, {{0, 0}, {40}, {20}});
  for (const LoadRound& round : rounds) {
    EXPECT_FALSE(round.empty);
    EXPECT_TRUE(round.shared);
    EXPECT_EQ(round.places.size(), 4U);
    EXPECT_EQ(round.duties.size(), 2U);
    EXPECT_EQ(round.places, rounds.front().places);
    for (const LoadDuty& duty : round.duties) {
      EXPECT_THAT(duty.to, IsEmpty());
      EXPECT_EQ(duty.place.kind, Kind::shared);
      EXPECT_TRUE(duty.lands_own);
    }
  }
  EXPECT_NE(rounds[0].duties, rounds[1].duties);
}

// A chunk that one rank of a node needs stays in its memory; one that several need goes to shared
// memory.
TEST(LoadRound, OnlyWhatSeveralRanksNeedIsShared) {
  const auto rounds = plan({{1, 2, 3}, {2, 4}}, {{0, 0}, {20}, {30}});
  EXPECT_THAT(rounds[0].places,
              ElementsAre(own(0), shared_at(0), own(rounds[0].duties.size() - 1)));
  EXPECT_THAT(rounds[1].places, ElementsAre(shared_at(0), own(rounds[1].duties.size() - 1)));
  for (const LoadRound& round : rounds) {
    EXPECT_TRUE(round.shared);
    for (const LoadDuty& duty : round.duties) EXPECT_TRUE(duty.lands_own);
  }
  for (const LoadRound& round : plan({{1}, {2}}, {{0, 0}, {20}, {10}})) EXPECT_FALSE(round.shared);
}

TEST(LoadRound, ARankTakesNoMoreThanItsOwnMemoryHolds) {
  const auto rounds = plan({{1, 2, 3, 4}, {7, 8}}, {{0, 0}, {20}, {25}});
  EXPECT_EQ(rounds[0].places.size(), 2U);
  EXPECT_EQ(rounds[1].places.size(), 2U);
}

TEST(LoadRound, NoMoreIsSharedThanThereIsRoomFor) {
  const auto rounds = plan({{1, 2, 3}, {1, 2, 3}}, {{0, 0}, {20}, {100}});
  for (const LoadRound& round : rounds)
    EXPECT_THAT(round.places, ElementsAre(shared_at(0), shared_at(10)));
}

// Rank 1 begins with a chunk that rank 0 needs in a later round.
TEST(LoadRound, WhatARankNeedsSoonItKeeps) {
  const LoadNodes node{{0, 0}, {20}, {10}};
  const Offers offers = {{1, 2, 3, 4}, {3, 5, 6, 7}};
  LoadPlanner planner = planner_of(node, 0);
  planner.offer(padded(offers), width);
  const LoadRound first = planner.next();
  ASSERT_TRUE(first.keep);
  EXPECT_EQ(first.keep->block, 3);
  EXPECT_EQ(first.keep->place, shared_at(0)) << "where rank 1 shares it";
  EXPECT_TRUE(first.shared);
  const LoadRound second = planner.next();
  EXPECT_FALSE(second.keep);
  EXPECT_THAT(second.places, ElementsAre(own(0), kept));
  ASSERT_EQ(second.duties.size(), 1U);
  EXPECT_EQ(second.duties.front().block, 2);
  EXPECT_THAT(planner.next().places, ElementsAre(own(0)));
  EXPECT_FALSE(planner.next().empty);  // rank 1's last chunk
  EXPECT_TRUE(planner.next().empty);
  EXPECT_FALSE(plan(offers, node)[1].keep);
}

// The memory for a kept chunk is in use during the whole round.
TEST(LoadRound, ABlockIsKeptOnlyWhereNoneIs) {
  LoadPlanner planner = planner_of({{0, 0}, {20}, {10}}, 0);
  planner.offer(padded({{1, 2, 3, 6, 4}, {3, 4, 5}}), width);
  EXPECT_EQ(planner.next().keep->block, 3);
  const LoadRound second = planner.next();
  EXPECT_THAT(second.places, ElementsAre(own(0), kept));
  EXPECT_FALSE(second.keep) << "of 4";
  EXPECT_THAT(planner.next().places, ElementsAre(own(0)));
  EXPECT_THAT(planner.next().places, ElementsAre(own(0))) << "4 is read again";
}

// Offers last for several rounds; a rank that needs more is asked in time.
TEST(LoadRound, RoundsGoOnThroughTheOffers) {
  const LoadNodes alone{{0, 0}, {30}, {20}};
  LoadPlanner planner = planner_of(alone, 0);
  EXPECT_TRUE(planner.wants_offers());
  planner.offer(padded({{1, 2, 3}, {7}}), width);
  const LoadRound first = planner.next();
  EXPECT_EQ(first.places.size(), 2U);
  EXPECT_FALSE(first.shared);
  EXPECT_FALSE(planner.wants_offers()) << "all have offered all that they need";
  EXPECT_EQ(planner.next().places.size(), 1U);
  EXPECT_TRUE(planner.next().empty);
  planner.offer(padded({{1, 2, 3, 4, 5, 6}, {}}), width);
  EXPECT_EQ(planner.next().places.size(), 2U);
  EXPECT_FALSE(planner.wants_offers());
  EXPECT_EQ(planner.next().places.size(), 2U);
  EXPECT_TRUE(planner.wants_offers());
  planner.offer(padded({{5, 6, 7}, {}}), width);
  EXPECT_EQ(planner.next().duties.front().block, 5);
}

TEST(LoadRound, ARankComesBackToABlockOfTheSameRound) {
  const LoadRound round = plan({{1, 2, 1, 3}}, {{0}, {0}, {20}}).front();
  EXPECT_THAT(round.places, ElementsAre(own(0), own(1), own(0)));
  EXPECT_EQ(round.duties.size(), 2U);
}

TEST(LoadRound, BetweenNodesABlockGoesAlongATree) {
  const LoadNodes apart{
      {0, 1, 2, 3, 4}, std::vector<std::int64_t>(5), std::vector<std::int64_t>(5, 10)};
  const Offers same(5, {9});
  expect_each_once(same, apart);
  for (const LoadRound& round : plan(same, apart))
    for (const LoadDuty& duty : round.duties) EXPECT_LE(duty.to.size(), 3U);  // log2(5), rounded up
}

TEST(LoadRound, NodesTakeTurnsAtReadingWhereARoundHasOneBlock) {
  const Offers offers = {{1, 2, 3, 4}, {1, 2, 3, 4}};
  const LoadNodes nodes = {.node_of = {0, 1}, .room = {0, 0}, .own = {10, 10}};
  LoadPlanner first = planner_of(nodes, 0);
  LoadPlanner second = planner_of(nodes, 1);
  first.offer(padded(offers), width);
  second.offer(padded(offers), width);
  for (const int reader : {0, 1, 0, 1}) {
    EXPECT_EQ(first.next().duties.at(0).from, reader == 0 ? -1 : 1);
    EXPECT_EQ(second.next().duties.at(0).from, reader == 1 ? -1 : 0);
  }
}

TEST(LoadRound, EachBlockIsReadOnceWhateverTheNeeds) {
  const Offers offers = {{1, 2, 3}, {2, 3}, {}, {5, 1, 2, 3}, {3}, {8, 9}};
  expect_each_once(offers, {{0, 0, 0, 0, 0, 0}, {1000}, {20}});
  expect_each_once(offers, {{0, 0, 0, 0, 0, 0}, {30}, {10}});
  expect_each_once(offers, {{0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, 0, 0}, {40, 40, 10, 40, 10, 20}});
  expect_each_once(offers, {{0, 0, 1, 1, 2, 2}, {20, 20, 30}, {10, 10, 20}});
  expect_each_once(offers, {{1, 0, 1, 0, 1, 0}, {30, 30}, {10, 30}});
}

}  // namespace
}  // namespace triax
