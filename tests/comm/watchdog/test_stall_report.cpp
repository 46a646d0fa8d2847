// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog/stall_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triax {
namespace {

using testing::HasSubstr;
using testing::Not;

MessageSeen sum(std::uint32_t number, bool finished, std::uint64_t bytes = 64) {
  return {"data axis", number, CallKind::all_reduce, bytes, -1, 0, finished};
}

RankProgress rank(int number, std::vector<MessageSeen> collectives) {
  RankProgress is;
  is.rank = number;
  is.place = "rank " + std::to_string(number) + " on h";
  is.process_number = 100 + number;
  is.collectives = std::move(collectives);
  return is;
}

// Rank 0 waits for its 7th sum with ranks 1 to 5.
Stall stall_of_a_sum() {
  Stall stall;
  stall.seconds = 12.0;
  stall.waiter = rank(0, {sum(6, true), sum(7, false)});
  stall.waiter.waits_for = sum(7, false);
  stall.members = {0, 1, 2, 3, 4, 5};
  stall.seen = {stall.waiter,
                rank(1, {sum(7, true), sum(8, false)}),
                rank(2, {sum(6, true)}),
                rank(3, {sum(6, true), sum(7, false, 32)}),
                rank(4, {sum(7, false)}),
                rank(9, {})};
  return stall;
}

TEST(StallReport, SaysWhoFinishedWhoJoinedAndWhoDidNot) {
  const std::string text = stall_report(stall_of_a_sum(), {});
  EXPECT_THAT(text,
              HasSubstr("rank 0 on h has waited 12 s for all-reduce 7 of 64 bytes, data axis"));
  EXPECT_THAT(text, HasSubstr("finished it: rank 1"));
  EXPECT_THAT(text, HasSubstr("joined it: ranks 0, 4"));
  EXPECT_THAT(text, HasSubstr("did not join: rank 2 on h: waits for no rank"));
  EXPECT_THAT(text, HasSubstr("came with another: rank 3 on h: all-reduce 7 of 32 bytes"));
  EXPECT_THAT(text, HasSubstr("not heard of: rank 5"));
  EXPECT_THAT(text, HasSubstr("\n  rank 9 on h: waits for no rank"));
  EXPECT_THAT(text, Not(HasSubstr("lost")));
}

// A GPU hangs: the rank waits for no message, and the report points to it.
TEST(StallReport, NamesTheRankWhoseGpuDoesNotAnswer) {
  Stall stall = stall_of_a_sum();
  MessageSeen device;
  device.kind = CallKind::device;
  stall.seen[2].waits_for = device;  // rank 2, which has not joined
  std::string text = stall_report(stall, {});
  EXPECT_THAT(text, HasSubstr("did not join: rank 2 on h: waits for its GPU"));
  EXPECT_THAT(text, HasSubstr("look first at: rank 2 (waiting for its GPU)"));
  stall.waiter = stall.seen[2];
  stall.members.clear();
  text = stall_report(stall, {});
  EXPECT_THAT(text,
              HasSubstr("rank 2 on h has waited 12 s for its own GPU, which has not finished"));
}

TEST(StallReport, NamesProcessesThatAreStoppedOrGone) {
  Stall stall = stall_of_a_sum();
  stall.seen[4].process = ProcessState::stopped;  // this rank had joined
  stall.seen[2].process = ProcessState::gone;
  const std::string text = stall_report(stall, {});
  EXPECT_THAT(text, HasSubstr("lost: rank 4 on h: its process 104 is stopped by a signal"));
  EXPECT_THAT(text, HasSubstr("did not join: rank 2 on h: its process 102 is gone"));
}

TEST(StallReport, KnowsWhoWorksOnFiles) {
  Stall stall = stall_of_a_sum();
  EXPECT_EQ(file_workers(stall.seen), "");
  stall.seen[0].file_work = true;  // waits within its file work
  stall.seen[2].file_work = true;
  stall.seen[5].file_work = true;
  EXPECT_EQ(file_workers(stall.seen), "ranks 2, 9");
  EXPECT_THAT(stall_report(stall, {}), HasSubstr("did not join: rank 2 on h: works on files"));
  EXPECT_TRUE(all_run(stall.seen));
  stall.seen[3].process = ProcessState::gone;
  EXPECT_FALSE(all_run(stall.seen));
}

TEST(StallReport, NamesWhoIsBusyBesidesThoseNotHeardOf) {
  Stall stall = stall_of_a_sum();
  for (RankProgress& seen : stall.seen)
    if (seen.rank != 3) seen.waits_for = sum(7, false);
  EXPECT_THAT(stall_report(stall, {}),
              HasSubstr("look first at: rank 3 (busy); not heard of: rank 5, whose node's report"));
  stall.members = {0, 1, 2, 4, 3, 5, 6, 7};
  EXPECT_THAT(stall_report(stall, {}), HasSubstr("(busy); not heard of: ranks 5-7, whose node's"));
  stall.seen[3].waits_for = sum(7, false);
  EXPECT_THAT(stall_report(stall, {}), HasSubstr("look first at: ranks 5-7, whose node's report"));
  stall.members = {0, 1};
  EXPECT_THAT(stall_report(stall, {}), Not(HasSubstr("look first at")));
}

TEST(StallReport, SaysWhyNodesDidNotHearEachOther) {
  Stall stall = stall_of_a_sum();
  EXPECT_THAT(stall_report(stall, {}), Not(HasSubstr("could not exchange")));
  stall.problem = "cannot write x: No space left on device";
  EXPECT_THAT(
      stall_report(stall, {}),
      HasSubstr("could not exchange their reports: cannot write x: No space left on device"));
}

TEST(StallReport, AMessageHasOnePeer) {
  Stall stall = stall_of_a_sum();
  stall.waiter.waits_for = MessageSeen{"pipeline axis", 0, CallKind::receive, 128, 4, 3};
  const std::string text =
      stall_report(stall, [](const RankProgress& is) { return "step " + std::to_string(is.rank); });
  EXPECT_THAT(text,
              HasSubstr("a receive of 128 bytes from rank 4 (tag 3), pipeline axis, at step 0"));
  EXPECT_THAT(text, HasSubstr("did not join: rank 4 on h: waits for no rank; at step 4"));
  EXPECT_THAT(text, Not(HasSubstr("did not join: rank 2")));
}

TEST(StallReport, WhoIsFarAheadHasFinished) {
  Stall stall = stall_of_a_sum();
  stall.seen[1].collectives = {sum(40, true), sum(41, false)};
  EXPECT_THAT(stall_report(stall, {}), HasSubstr("finished it: rank 1\n"));
}

}  // namespace
}  // namespace triax
