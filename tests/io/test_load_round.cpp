#include "io/load_round.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace triax {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Kind = LoadPlace::Kind;

constexpr std::size_t width = 6;
constexpr LoadPlace kept{Kind::kept, 0};
constexpr LoadPlace shared_at(std::int64_t byte) {
  return {Kind::shared, byte};
}
constexpr LoadPlace own(std::int64_t duty) {
  return {Kind::own, duty};
}

using Offers = std::vector<std::vector<std::int64_t>>;

std::vector<std::int64_t> padded(const Offers& offers) {
  std::vector<std::int64_t> out;
  for (std::vector<std::int64_t> offer : offers) {
    offer.resize(width, -1);
    out.insert(out.end(), offer.begin(), offer.end());
  }
  return out;
}

LoadPlanner planner_of(const LoadNodes& nodes, int rank) {
  return LoadPlanner(nodes, rank, [](std::int64_t) { return std::int64_t{10}; });  // bytes a block
}

// What all ranks do in the first round.
std::vector<LoadRound> plan(const Offers& offers, const LoadNodes& nodes) {
  std::vector<LoadRound> rounds;
  for (int rank = 0; rank < std::ssize(offers); ++rank) {
    LoadPlanner planner = planner_of(nodes, rank);
    planner.offer(padded(offers), width);
    rounds.push_back(planner.next());
  }
  return rounds;
}

// Each accepted block is read once, comes to every node that needs it, and is sent to nobody else.
void expect_each_once(const Offers& offers, const LoadNodes& nodes) {
  const std::vector<LoadRound> rounds = plan(offers, nodes);
  std::map<std::int64_t, std::set<int>> needed, brought;  // block -> nodes
  std::map<std::int64_t, int> reads;
  std::set<std::tuple<int, int, std::int64_t>> sent, awaited;  // from, to, block
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

// What one rank of a node needs stays with it; what another needs too goes where both find it.
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

// Rank 1 begins with a block that rank 0 comes to in a later round.
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
  EXPECT_FALSE(planner.next().empty);  // rank 1's last
  EXPECT_TRUE(planner.next().empty);
  EXPECT_FALSE(plan(offers, node)[1].keep);
}

// Its place is in use for as long as the round is handed out.
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

// Offers last for several rounds; who has offered less than it needs is asked in time.
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
    for (const LoadDuty& duty : round.duties) EXPECT_LE(duty.to.size(), 3U);  // log2 of 5, up
}

TEST(LoadRound, EachBlockIsReadOnceWhateverTheNeeds) {
  const Offers offers = {{1, 2, 3}, {2, 3}, {}, {5, 1, 2, 3}, {3}, {8, 9}};
  expect_each_once(offers, {{0, 0, 0, 0, 0, 0}, {1000}, {20}});
  expect_each_once(offers, {{0, 0, 0, 0, 0, 0}, {30}, {10}});
  expect_each_once(offers, {{0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, 0, 0}, {40, 40, 10, 40, 10, 20}});
  expect_each_once(offers, {{0, 0, 1, 1, 2, 2}, {20, 20, 30}, {10, 10, 20}});
  expect_each_once(offers, {{1, 0, 1, 0, 1, 0}, {30, 30}, {10, 30}});
}

/// All ranks of a load, round after round, to the end. What it checks is what CheckpointLoader
/// relies on.
class WholeLoad {
 public:
  WholeLoad(LoadNodes nodes, Offers sequences)
      : nodes_(std::move(nodes)), sequences_(std::move(sequences)), next_(sequences_.size()) {
    for (int rank = 0; rank < std::ssize(sequences_); ++rank)
      planners_.push_back(planner_of(nodes_, rank));
  }

  void run() {
    for (int round = 0; round < 1000; ++round) {
      if (planners_.front().wants_offers())
        for (LoadPlanner& planner : planners_) planner.offer(offers(), width);
      rounds_.clear();
      for (LoadPlanner& planner : planners_) rounds_.push_back(planner.next());
      if (rounds_.front().empty) break;
      expect_sound();
      if (testing::Test::HasFailure()) return;
    }
    for (std::size_t r = 0; r < next_.size(); ++r) EXPECT_EQ(next_[r], sequences_[r].size());
  }

 private:
  std::vector<std::int64_t> offers() const {
    Offers rest;
    for (std::size_t r = 0; r < next_.size(); ++r) {
      const auto left = std::min(width, sequences_[r].size() - next_[r]);
      rest.emplace_back(sequences_[r].begin() + static_cast<std::ptrdiff_t>(next_[r]),
                        sequences_[r].begin() + static_cast<std::ptrdiff_t>(next_[r] + left));
    }
    return padded(rest);
  }

  using Written = std::map<std::pair<int, std::int64_t>, std::int64_t>;  // node, byte -> block

  void expect_sound() {
    Written written;
    std::map<std::int64_t, int> reads;
    for (std::size_t r = 0; r < rounds_.size(); ++r) {
      const LoadRound& round = rounds_[r];
      EXPECT_EQ(round.empty, rounds_.front().empty);
      EXPECT_EQ(round.shared, rounds_.front().shared);
      std::int64_t own = 0;
      for (std::size_t i = 0; i < round.duties.size(); ++i) {
        const LoadDuty& duty = round.duties[i];
        own += duty.lands_own ? 10 : 0;
        reads[duty.block] += duty.from < 0 ? 1 : 0;
        if (duty.place.kind == Kind::own) {
          EXPECT_TRUE(duty.lands_own);
          EXPECT_EQ(duty.place.at, static_cast<std::int64_t>(i)) << "itself";
          continue;
        }
        ASSERT_EQ(duty.place.kind, Kind::shared);
        EXPECT_TRUE(round.shared);
        EXPECT_LE(duty.place.at + 10, room(r));
        EXPECT_TRUE(written.try_emplace({nodes_.node_of[r], duty.place.at}, duty.block).second);
      }
      EXPECT_LE(own, nodes_.own[static_cast<std::size_t>(nodes_.node_of[r])]);
    }
    for (const auto& [block, count] : reads) EXPECT_EQ(count, 1) << block;
    for (std::size_t r = 0; r < rounds_.size(); ++r) expect_handed_out(r, written);
  }

  // Each block that the rank is told of is where it is told.
  void expect_handed_out(std::size_t r, const Written& written) {
    const LoadRound& round = rounds_[r];
    EXPECT_EQ(round.places.empty(), next_[r] == sequences_[r].size()) << "each goes on";
    const auto is_at = [&](std::int64_t block, const LoadPlace& place) {
      if (place.kind == Kind::kept) return kept_[r] == block;
      if (place.kind == Kind::own)
        return round.duties.at(static_cast<std::size_t>(place.at)).block == block;
      const auto found = written.find({nodes_.node_of[r], place.at});
      return found != written.end() && found->second == block;
    };
    for (const LoadPlace& place : round.places)
      EXPECT_TRUE(is_at(sequences_[r][next_[r]++], place)) << "rank " << r;
    if (!round.keep) return;
    EXPECT_THAT(round.places, testing::Not(testing::Contains(kept)));
    EXPECT_TRUE(is_at(round.keep->block, round.keep->place));
    kept_[r] = round.keep->block;
  }

  std::int64_t room(std::size_t r) const {
    return nodes_.room[static_cast<std::size_t>(nodes_.node_of[r])];
  }

  LoadNodes nodes_;
  Offers sequences_;
  std::vector<std::size_t> next_;
  std::vector<LoadPlanner> planners_;
  std::vector<LoadRound> rounds_;
  std::map<std::size_t, std::int64_t> kept_;
};

// Who has kept a block neither brings it in for others nor refuses it.
TEST(LoadRound, WhatARankHasKeptItDoesNotBringIn) {
  WholeLoad({{0, 0}, {20}, {10}}, {{4, 0, 5, 0, 4}, {3, 1, 5, 0}}).run();
  WholeLoad({{0, 0, 0}, {30}, {10}}, {{20, 1, 3}, {21, 9, 3, 4}, {4, 1, 9, 3}}).run();
}

TEST(LoadRound, EveryLoadIsSound) {
  std::mt19937 random(1);
  const auto number = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int load = 0; load < 3000 && !HasFailure(); ++load) {
    SCOPED_TRACE(load);
    const int count = number(1, 8);
    const int node_count = number(1, std::min(3, count));
    LoadNodes nodes;
    for (int rank = 0; rank < count; ++rank)
      nodes.node_of.push_back(rank < node_count ? rank : number(0, node_count - 1));
    for (int node = 0; node < node_count; ++node) {
      nodes.own.push_back(10 * number(1, 3));
      nodes.room.push_back(10 * (std::ranges::count(nodes.node_of, node) / 2 + number(0, 4)));
    }
    // Rows or columns of tensors of a few blocks, walked through more than once.
    Offers sequences(static_cast<std::size_t>(count));
    for (int tensor = 0; tensor < number(1, 6); ++tensor)
      for (int pass = number(1, 3); pass > 0; --pass)
        for (auto& sequence : sequences) {
          const int begin = number(0, 4);
          for (int block = begin, end = number(begin, 5); block <= end; ++block)
            if (const std::int64_t name = 6 * tensor + block;
                sequence.empty() || sequence.back() != name)
              sequence.push_back(name);
        }
    WholeLoad(nodes, sequences).run();
  }
}

}  // namespace
}  // namespace triax
