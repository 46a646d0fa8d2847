// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/scheduler.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

std::unique_ptr<Sequence> sequence(std::uint64_t id, std::int32_t tokens, std::int32_t first = 0) {
  GenerationRequest request{.id = id,
                            .prompt = std::vector<std::int32_t>(static_cast<std::size_t>(tokens))};
  std::iota(request.prompt.begin(), request.prompt.end(), first);
  return std::make_unique<Sequence>(std::move(request));
}

// (request, tokens) of a step, computed; a request that has all its tokens gets one more.
std::vector<std::pair<std::uint64_t, std::int64_t>> step(Scheduler& scheduler) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> found;
  for (const ScheduledChunk& chunk : scheduler.plan(100)) {
    found.emplace_back(chunk.sequence->request.id, chunk.tokens);
    scheduler.computed(chunk);
    if (chunk.sequence->missing() == 0) chunk.sequence->tokens.push_back(0);
  }
  return found;
}
using Step = std::vector<std::pair<std::uint64_t, std::int64_t>>;

TEST(Scheduler, DecodesComeFirstAndPromptsTakeWhatIsLeft) {
  BlockPool pool(100, true);
  Scheduler scheduler({.block_tokens = 16, .tokens_per_step = 10, .sequences = 8}, pool);
  scheduler.add(sequence(1, 25));
  EXPECT_EQ(step(scheduler), (Step{{1, 10}}));
  scheduler.add(sequence(2, 3, 100));
  EXPECT_EQ(step(scheduler), (Step{{1, 10}}));
  EXPECT_EQ(step(scheduler), (Step{{1, 5}, {2, 3}}));
  scheduler.add(sequence(3, 30, 200));
  EXPECT_EQ(step(scheduler), (Step{{1, 1}, {2, 1}, {3, 8}}));
  EXPECT_EQ(step(scheduler), (Step{{1, 1}, {2, 1}, {3, 8}}));
}

TEST(Scheduler, LimitsTheRunningOnes) {
  BlockPool pool(100, true);
  Scheduler scheduler({.block_tokens = 16, .tokens_per_step = 100, .sequences = 2}, pool);
  auto one = sequence(1, 4, 50);
  const Sequence* const first = one.get();
  scheduler.add(std::move(one));
  for (std::uint64_t id = 2; id <= 3; ++id) scheduler.add(sequence(id, 4, 50 * int(id)));
  EXPECT_EQ(step(scheduler), (Step{{1, 4}, {2, 4}}));
  EXPECT_EQ(scheduler.waiting(), 1);
  scheduler.remove(*first);
  EXPECT_EQ(step(scheduler), (Step{{2, 1}, {3, 4}}));
}

// The newest loses its blocks, waits first in the queue and is computed again.
TEST(Scheduler, PreemptsTheNewest) {
  BlockPool pool(4, true);
  Scheduler scheduler({.block_tokens = 16, .tokens_per_step = 100, .sequences = 8}, pool);
  auto one = sequence(1, 31), two = sequence(2, 31, 100);
  const Sequence *const first = one.get(), *const second = two.get();
  scheduler.add(std::move(one));
  scheduler.add(std::move(two));
  EXPECT_EQ(step(scheduler), (Step{{1, 31}, {2, 31}}));
  EXPECT_EQ(step(scheduler), (Step{{1, 1}, {2, 1}}));
  EXPECT_EQ(pool.free_blocks(), 0);
  EXPECT_EQ(step(scheduler), (Step{{1, 1}}));
  EXPECT_EQ(scheduler.preemptions(), 1);
  EXPECT_EQ(scheduler.waiting(), 1);
  EXPECT_EQ(pool.free_blocks(), 1);
  scheduler.remove(*first);
  EXPECT_EQ(step(scheduler).front().first, 2U);
  scheduler.remove(*second);
  EXPECT_EQ(pool.free_blocks(), 4);
}

TEST(Scheduler, EqualBeginningsAreComputedOnce) {
  BlockPool pool(20, true);
  Scheduler scheduler({.block_tokens = 16, .tokens_per_step = 100, .sequences = 8}, pool);
  scheduler.add(sequence(1, 48));
  EXPECT_EQ(step(scheduler), (Step{{1, 48}}));
  scheduler.add(sequence(2, 48));
  scheduler.add(sequence(3, 40));
  EXPECT_EQ(step(scheduler), (Step{{1, 1}, {2, 16}, {3, 8}})) << "the last token in any case";
  EXPECT_EQ(scheduler.prefix_hit_tokens(), 64);
}

// A request is in one step at a time, and keeps its blocks meanwhile.
TEST(Scheduler, StepsUnderWayHaveRequestsOfTheirOwn) {
  BlockPool pool(4, true);
  Scheduler scheduler({.block_tokens = 16, .tokens_per_step = 100, .sequences = 8}, pool);
  scheduler.add(sequence(1, 31));
  scheduler.add(sequence(2, 31, 100));
  const auto one = scheduler.plan(1), two = scheduler.plan(1);
  ASSERT_EQ(one.size(), 1U);
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(one[0].sequence->request.id, 1U);
  EXPECT_EQ(two[0].sequence->request.id, 2U);
  EXPECT_TRUE(scheduler.plan(1).empty());
  EXPECT_THROW(scheduler.remove(*one[0].sequence), Error);
  scheduler.computed(one[0]);
  one[0].sequence->tokens.insert(one[0].sequence->tokens.end(), 3, 7);
  EXPECT_TRUE(scheduler.plan(1).empty()) << "the third block is in use";
  EXPECT_EQ(scheduler.preemptions(), 0);
  scheduler.computed(two[0]);
  EXPECT_EQ(scheduler.plan(1)[0].sequence->request.id, 1U);
  EXPECT_EQ(scheduler.preemptions(), 1);
}

}  // namespace
}  // namespace triax
