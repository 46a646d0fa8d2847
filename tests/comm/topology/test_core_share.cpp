// SPDX-License-Identifier: Apache-2.0
#include "src/comm/topology/core_share.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace triax {
namespace {

using testing::ElementsAre;

constexpr int unlimited = std::numeric_limits<int>::max();

// `count` cores; core c has the hardware threads c and c + count.
Cores cores_of(int count) {
  Cores cores;
  for (int core = 0; core < count; ++core) cores.push_back({core, core + count});
  return cores;
}

ThreadMask mask_of(const std::vector<int>& threads) {
  ThreadMask mask{};
  for (const int thread : threads)
    mask[static_cast<std::size_t>(thread) / 64] |= std::uint64_t{1} << thread % 64;
  return mask;
}

// All threads of cores [first, last) of `count`.
ThreadMask whole_cores(int first, int last, int count) {
  std::vector<int> threads;
  for (int core = first; core < last; ++core) threads.insert(threads.end(), {core, core + count});
  return mask_of(threads);
}

std::vector<int> cores_of_ranks(const Cores& cores, const std::vector<ThreadMask>& masks,
                                int quota) {
  std::vector<int> shares;
  for (int rank = 0; rank < std::ssize(masks); ++rank)
    shares.push_back(share_of_masks(cores, masks, rank, quota).cores);
  return shares;
}

TEST(CoreShare, CutsCoresIntoEqualRuns) {
  EXPECT_EQ(equal_run(8, 0, 2), std::pair(0, 4));
  EXPECT_EQ(equal_run(8, 1, 2), std::pair(4, 8));
  for (const auto& [count, sharers] : {std::pair{7, 3}, {1, 1}, {64, 5}, {2, 2}}) {
    int end = 0;
    for (int i = 0; i < sharers; ++i) {
      const auto [first, last] = equal_run(count, i, sharers);
      EXPECT_GE(first, end);
      EXPECT_EQ(last - first, count / sharers);
      end = last;
    }
    EXPECT_LE(end, count);
  }
}

TEST(CoreShare, RanksThatMayUseTheSameCoresGetAnEqualRunEach) {
  const Cores cores = cores_of(8);
  const std::vector<ThreadMask> masks(2, whole_cores(0, 8, 8));
  const CoreShare second = share_of_masks(cores, masks, 1, unlimited);
  EXPECT_EQ(second.cores, 4);
  EXPECT_EQ(second.of_node, 8);
  EXPECT_THAT(second.threads(), ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
  EXPECT_THAT(second.first(1).threads(), ElementsAre(4, 12));
  EXPECT_EQ(second.first(1).cores, 1);
  EXPECT_EQ(second.first(9).threads(), second.threads());
  EXPECT_THAT(
      cores_of_ranks(cores_of(7), std::vector<ThreadMask>(2, whole_cores(0, 7, 7)), unlimited),
      ElementsAre(3, 3));
}

TEST(CoreShare, GroupsOfRanksWithCoresOfTheirOwnShareThose) {
  const ThreadMask left = whole_cores(0, 2, 8), right = whole_cores(2, 8, 8);
  const std::vector<ThreadMask> masks = {left, right, left, right};
  EXPECT_THAT(cores_of_ranks(cores_of(8), masks, unlimited), ElementsAre(1, 3, 1, 3));
  std::set<int> owned;
  for (int rank = 0; rank < 4; ++rank)
    for (const int thread : share_of_masks(cores_of(8), masks, rank, unlimited).threads())
      EXPECT_TRUE(owned.insert(thread).second) << thread;
  EXPECT_EQ(owned.size(), 16U);
}

TEST(CoreShare, NobodyIsBoundWhereCoresAreSharedInPart) {
  std::vector<ThreadMask> masks(4, whole_cores(0, 16, 16));
  masks[0] = whole_cores(0, 1, 16);
  EXPECT_THAT(cores_of_ranks(cores_of(16), masks, unlimited), ElementsAre(1, 4, 4, 4));
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_FALSE(share_of_masks(cores_of(16), masks, rank, unlimited).own());
}

TEST(CoreShare, MoreRanksThanCoresHaveAThreadEach) {
  // Four ranks on two cores, beside four ranks on fourteen.
  std::vector<ThreadMask> masks(4, whole_cores(0, 2, 16));
  masks.resize(8, whole_cores(2, 16, 16));
  EXPECT_THAT(cores_of_ranks(cores_of(16), masks, unlimited), ElementsAre(1, 1, 1, 1, 3, 3, 3, 3));
}

TEST(CoreShare, AQuotaIsDividedAndNobodyGetsMoreThanItsCores) {
  const std::vector<ThreadMask> masks = {whole_cores(0, 2, 16), whole_cores(2, 16, 16)};
  EXPECT_THAT(cores_of_ranks(cores_of(16), masks, 12), ElementsAre(2, 6));
  EXPECT_EQ(share_of_masks(cores_of(16), masks, 0, 12).of_node, 12);
  EXPECT_FALSE(share_of_masks(cores_of(16), masks, 0, 12).own());
  EXPECT_THAT(cores_of_ranks(cores_of(16), masks, 1), ElementsAre(1, 1));
}

TEST(CoreShare, OneThreadOfACoreIsACore) {
  const std::vector<ThreadMask> masks = {mask_of({0, 1}), mask_of({10, 11})};
  const CoreShare share = share_of_masks(cores_of(8), masks, 1, unlimited);
  EXPECT_EQ(share.cores, 2);
  EXPECT_THAT(share.threads(), ElementsAre(10, 11));
}

TEST(CoreShare, SaysWhichCoresItChose) {
  EXPECT_EQ((CoreShare{2, 8, {{0, 8}, {1, 9}}}).text(),
            "2 of the node's 8 core(s) (hardware threads 0-1,8-9)");
  EXPECT_EQ((CoreShare{1, 8, {{5}}}).text(), "1 of the node's 8 core(s) (hardware threads 5)");
  EXPECT_EQ((CoreShare{1, 2, {}}).text(), "1 of the node's 2 core(s)");
}

}  // namespace
}  // namespace triax
