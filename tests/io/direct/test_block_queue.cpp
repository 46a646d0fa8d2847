// SPDX-License-Identifier: Apache-2.0
#include "io/direct/block_queue.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

constexpr std::int64_t page = 4096;
using Failure = BlockQueue::Failure;

// Some file systems open a file with O_DIRECT and then refuse its transfers.
TEST(BlockQueueDirect, WhatIsRefusedIsTriedOnceThroughThePageCache) {
  const test::TempDirectory directory;
  const int file = ::open(directory.file("file", "").c_str(), O_RDWR);
  ASSERT_EQ(::fcntl(file, F_SETFL, O_DIRECT), 0) << std::strerror(errno);
  for (const int error : {EINVAL, EOPNOTSUPP}) {
    ::fcntl(file, F_SETFL, O_DIRECT);
    BlockQueue queue(2 * page, file);
    std::vector<std::byte> memory(2 * page);
    const std::uint32_t transfer = queue.add(Direction::write, memory.data(), 0, page);
    Block block;
    ASSERT_TRUE(queue.take(block));
    EXPECT_TRUE(queue.finish(block, -error));
    EXPECT_EQ(::fcntl(file, F_GETFL) & O_DIRECT, 0);
    EXPECT_FALSE(queue.finish(block, -error));
    EXPECT_EQ(queue.wait(transfer).error, error);
  }
  ::close(file);
}

class BlockQueueTest : public testing::Test {
 protected:
  std::uint32_t add(Direction direction, std::int64_t pages) {
    return queue_.add(direction, memory_.data(), 8 * page, pages * page);
  }
  Block take() {
    Block block;
    EXPECT_TRUE(queue_.take(block));
    return block;
  }
  bool nothing_to_take() {
    Block block;
    return !queue_.take(block);
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(8 * page);
  BlockQueue queue_{2 * page};
};

TEST_F(BlockQueueTest, CutsTransfersIntoBlocksOldestFirst) {
  const std::uint32_t first = add(Direction::read, 5);
  const std::uint32_t second = add(Direction::write, 1);
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(take());
  EXPECT_TRUE(nothing_to_take());
  for (std::size_t i = 0; i < 3; ++i) {
    const auto at = static_cast<std::int64_t>(i) * 2 * page;
    EXPECT_EQ(blocks[i].transfer, first);
    EXPECT_EQ(blocks[i].direction, Direction::read);
    EXPECT_EQ(blocks[i].data, memory_.data() + at);
    EXPECT_EQ(blocks[i].offset, 8 * page + at);
    EXPECT_EQ(blocks[i].bytes, i < 2 ? 2 * page : page);
  }
  EXPECT_EQ(blocks[3].transfer, second);
  EXPECT_EQ(blocks[3].direction, Direction::write);
  for (Block& block : blocks) {
    EXPECT_FALSE(queue_.done(block.transfer));
    EXPECT_FALSE(queue_.finish(block, block.bytes));
  }
  EXPECT_EQ(queue_.wait(first).error, 0);
  EXPECT_EQ(queue_.wait(second).error, 0);
}

TEST_F(BlockQueueTest, InterruptedAndShortBlocksAreResumed) {
  const std::uint32_t transfer = add(Direction::write, 2);
  Block block = take();
  EXPECT_TRUE(queue_.finish(block, -EINTR));
  EXPECT_TRUE(queue_.finish(block, -EAGAIN));
  EXPECT_EQ(block.bytes, 2 * page);
  EXPECT_TRUE(queue_.finish(block, page));
  EXPECT_EQ(block.data, memory_.data() + page);
  EXPECT_EQ(block.offset, 9 * page);
  EXPECT_EQ(block.bytes, page);
  EXPECT_TRUE(queue_.finish(block, 100));
  EXPECT_EQ(block.bytes, page - 100);
  EXPECT_FALSE(queue_.done(transfer));
  EXPECT_FALSE(queue_.finish(block, page - 100));
  EXPECT_EQ(queue_.wait(transfer).error, 0);
}

TEST_F(BlockQueueTest, AFailureGivesUpWhatWasNotStarted) {
  const std::uint32_t failed = add(Direction::write, 8);
  const std::uint32_t next = add(Direction::write, 1);
  Block first = take();
  Block second = take();
  EXPECT_FALSE(queue_.finish(second, -ENOSPC));
  EXPECT_FALSE(queue_.done(failed));  // its first block is still in flight
  Block other = take();
  EXPECT_EQ(other.transfer, next);
  EXPECT_TRUE(nothing_to_take());
  EXPECT_FALSE(queue_.finish(first, -EIO));
  EXPECT_FALSE(queue_.finish(other, page));
  const Failure failure = queue_.wait(failed);
  EXPECT_EQ(failure.error, ENOSPC);
  EXPECT_EQ(failure.offset, 10 * page);
  EXPECT_EQ(failure.direction, Direction::write);
  EXPECT_EQ(queue_.wait(next).error, 0);
}

TEST_F(BlockQueueTest, ReadsEndWithTheFileAndWritesOfNothingFail) {
  struct Case {
    Direction direction;
    std::int64_t result;
    int error;
    std::int64_t offset;
  };
  for (const Case& c :
       {Case{Direction::read, 0, Failure::end_of_file, 8 * page},
        Case{Direction::read, page + 5, Failure::end_of_file, 9 * page + 5},
        Case{Direction::read, -EIO, EIO, 8 * page}, Case{Direction::write, 0, EIO, 8 * page}}) {
    const std::uint32_t transfer = add(c.direction, 2);
    Block block = take();
    EXPECT_FALSE(queue_.finish(block, c.result));
    const Failure failure = queue_.wait(transfer);
    EXPECT_EQ(failure.error, c.error);
    EXPECT_EQ(failure.offset, c.offset);
  }
}

TEST_F(BlockQueueTest, NumbersAreUsedAgainAndNothingIsDoneAtOnce) {
  const std::uint32_t nothing = add(Direction::read, 0);
  EXPECT_TRUE(queue_.done(nothing));
  EXPECT_TRUE(nothing_to_take());
  EXPECT_EQ(queue_.wait(nothing).error, 0);
  EXPECT_EQ(add(Direction::read, 0), nothing);
}

TEST_F(BlockQueueTest, StopEndsTheWaitForBlocks) {
  std::thread engine([this] {
    int taken = 0;
    for (Block block; queue_.wait_and_take(block); ++taken) queue_.finish(block, block.bytes);
    EXPECT_EQ(taken, 4);
  });
  const std::uint32_t transfer = add(Direction::read, 8);
  queue_.wait_all();
  EXPECT_TRUE(queue_.done(transfer));
  queue_.stop();
  engine.join();
}

}  // namespace
}  // namespace triax
