// SPDX-License-Identifier: Apache-2.0
// LoadPlanner over all rounds of a load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/io/load_offers.hpp"

namespace triax {
namespace {

using Kind = LoadPlace::Kind;

/// Runs all ranks of a load to its end, and checks what CheckpointLoader relies on.
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

  using Written = std::map<std::pair<int, std::int64_t>, std::int64_t>;  // (node, byte) -> chunk

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

  // Each chunk of the rank's plan is at its planned location.
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

// A rank that has kept a chunk does not bring it in for others, and does not prevent others from
// sharing it.
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
    // Rows or columns of tensors of a few chunks, in several passes.
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
