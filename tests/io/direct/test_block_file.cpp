// SPDX-License-Identifier: Apache-2.0
#include "io/direct/block_file.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/io/block_fixtures.hpp"
#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t page = BlockFile::alignment;
constexpr std::int64_t mebi = std::int64_t{1} << 20;

// A file of `bytes` zeros.
std::string make_file(const TempDirectory& dir, std::size_t bytes) {
  std::string path = dir.file("blocks", "");
  std::filesystem::resize_file(path, bytes);
  return path;
}

class BlockFileTest : public testing::TestWithParam<BlockFile::Options> {};
INSTANTIATE_TEST_SUITE_P(Ways, BlockFileTest, testing::ValuesIn(all_ways()), name_of_way);

TEST_P(BlockFileTest, RoundTripsAtManySizesAndDepths) {
  const TempDirectory dir;
  const std::string path = make_file(dir, 0);
  unsigned seed = 0;
  for (const std::int64_t block : {std::int64_t{4096}, std::int64_t{3 * 4096}, mebi})
    for (const int depth : {1, 2, 16})
      for (const std::size_t pages : {1U, 5U, 256U, 257U, 700U}) {
        BlockFile::Options options = GetParam();
        options.block_bytes = block;
        options.queue_depth = depth;
        BlockFile file(path, options);
        const Buffer from(pages * page);
        const Buffer to(pages * page);
        fill_random(bytes_in(from), ++seed);
        const std::int64_t offset = 3 * BlockFile::alignment;
        file.write(offset, bytes_in(from)).wait();
        file.read(offset, bytes_in(to)).wait();
        ASSERT_TRUE(std::ranges::equal(bytes_in(from), bytes_in(to)))
            << block << " " << depth << " " << pages;
        const std::string disk = contents(path).substr(3 * page, from.bytes());
        ASSERT_TRUE(std::equal(disk.begin(), disk.end(), static_cast<char*>(from.data())));
      }
}

TEST_P(BlockFileTest, ManyRequestsInRandomOrder) {
  constexpr std::size_t pieces = 300;
  const TempDirectory dir;
  BlockFile::Options options = GetParam();
  options.block_bytes = 2 * 4096;
  options.queue_depth = 7;
  BlockFile file(make_file(dir, pieces * 5 * page), options);
  const Buffer from(pieces * 5 * page);
  const Buffer to(from.bytes());
  fill_random(bytes_in(from), 1);
  std::mt19937 random(2);
  std::vector<std::size_t> order(pieces);
  for (std::size_t i = 0; i < pieces; ++i) order[i] = i;
  for (const bool write : {true, false}) {
    std::ranges::shuffle(order, random);
    std::vector<BlockRequest> requests(pieces);
    for (const std::size_t i : order) {
      const auto memory = bytes_in(write ? from : to).subspan(i * 5 * page, 5 * page);
      const auto offset = static_cast<std::int64_t>(i * 5 * page);
      requests[i] = write ? file.write(offset, memory) : file.read(offset, memory);
    }
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      requests[i].wait();
      EXPECT_FALSE(requests[i].pending());
    }
  }
  EXPECT_TRUE(std::ranges::equal(bytes_in(from), bytes_in(to)));
}

TEST_P(BlockFileTest, TransfersGoOnWithoutTheCaller) {
  const TempDirectory dir;
  BlockFile::Options options = GetParam();
  options.block_bytes = 4096;
  options.queue_depth = 2;
  BlockFile file(make_file(dir, 0), options);
  const Buffer from(500 * page);
  BlockRequest request = file.write(0, bytes_in(from));
  EXPECT_TRUE(request.pending());
  const auto start = std::chrono::steady_clock::now();
  while (!request.test() && std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(request.test());
  request.wait();
  request.wait();  // a second wait does nothing
  EXPECT_TRUE(request.test());
}

// Includes a wait that begins just as the block completes: it must not wait for another completion.
TEST_P(BlockFileTest, AWaitMayBeginAtAnyInstantOfARead) {
  using Clock = std::chrono::steady_clock;
  const TempDirectory dir;
  BlockFile file(make_file(dir, page), GetParam());
  const Buffer to(page);
  file.write(0, bytes_in(to)).wait();  // a hole would be read without disk access
  const auto read_after = [&](Clock::duration pause) {
    const auto start = Clock::now();
    BlockRequest request = file.read(0, bytes_in(to));
    while (Clock::now() - start < pause) {
    }
    request.wait();
    return Clock::now() - start;
  };
  std::vector<Clock::duration> times(101);
  for (Clock::duration& time : times) time = read_after({});
  std::ranges::nth_element(times, times.begin() + 50);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> part(0.5, 1.2);
  for (int i = 0; i < 2'000; ++i)
    read_after(std::chrono::duration_cast<Clock::duration>(times[50] * part(random)));
}

TEST_P(BlockFileTest, RequestsAndFilesWaitWhenTheyGo) {
  const TempDirectory dir;
  const std::string path = make_file(dir, 0);
  const Buffer from(400 * page);
  fill_random(bytes_in(from), 1);
  const auto half = bytes_in(from).size() / 2;
  {
    BlockFile file(path, GetParam());
    { const BlockRequest dropped = file.write(0, bytes_in(from).first(half)); }
    BlockRequest moved = file.write(static_cast<std::int64_t>(half), bytes_in(from).last(half));
    BlockRequest target;
    target = std::move(moved);
    EXPECT_TRUE(target.pending());
    EXPECT_NO_THROW(file.read(0, {}).wait());
  }
  const std::string disk = contents(path);
  ASSERT_EQ(disk.size(), from.bytes());
  EXPECT_TRUE(std::equal(disk.begin(), disk.end(), static_cast<char*>(from.data())));
}

TEST_P(BlockFileTest, ReadsBeyondTheEndAreErrors) {
  const TempDirectory dir;
  for (const std::size_t bytes : {2 * page, 2 * page + 100}) {
    const std::string path = make_file(dir, bytes);
    BlockFile file(path, GetParam());
    const Buffer to(8 * page);
    fill_random(bytes_in(to), 1);
    BlockRequest request = file.read(0, bytes_in(to));
    EXPECT_THAT(error_of([&] { request.wait(); }),
                AllOf(HasSubstr("cannot read " + path), HasSubstr(std::to_string(bytes)),
                      HasSubstr("the file ends there")));
    EXPECT_FALSE(request.pending());
    file.read(0, bytes_in(to).first(2 * page)).wait();
    EXPECT_THAT(bytes_in(to).first(2 * page), testing::Each(std::byte{0}));
  }
}

TEST_P(BlockFileTest, AFullDiskIsAnError) {
  BlockFile file("/dev/full", GetParam());
  const Buffer from(64 * page);
  EXPECT_THAT(error_of([&] { file.write(8 * 4096, bytes_in(from)).wait(); }),
              AllOf(HasSubstr("cannot write /dev/full at byte 32768"),
                    HasSubstr("No space left on device"), HasSubstr("Free space")));
}

TEST_P(BlockFileTest, TheLimitOnFileSizesIsAnError) {
  const TempDirectory dir;
  const std::string path = make_file(dir, 0);
  const Buffer from(64 * page);
  const FileSizeLimit limit(16 * page);
  BlockFile file(path, GetParam());
  EXPECT_THAT(error_of([&] { file.write(0, bytes_in(from)).wait(); }),
              AllOf(HasSubstr("at byte 65536"), HasSubstr("File too large"), HasSubstr("ulimit")));
}

TEST_P(BlockFileTest, FilesThatCannotBeOpenedAreErrors) {
  const TempDirectory dir;
  EXPECT_THAT(error_of([&] { BlockFile(dir.path("none/blocks"), GetParam()); }),
              AllOf(HasSubstr("none/blocks"), HasSubstr("No such file")));
  const std::string path = make_file(dir, page);
  ::chmod(path.c_str(), 0444);
  const WithoutRights user;
  EXPECT_THAT(error_of([&] { BlockFile(path, GetParam()); }), HasSubstr("Permission denied"));
}

TEST_P(BlockFileTest, FilesOpenForReadingAreOnlyRead) {
  const TempDirectory dir;
  BlockFile::Options options = GetParam();
  options.writable = false;
  BlockFile file(make_file(dir, page), options);
  const Buffer memory(page);
  fill_random(bytes_in(memory), 1);
  file.read(0, bytes_in(memory)).wait();
  EXPECT_THAT(bytes_in(memory), testing::Each(std::byte{0}));
  EXPECT_THAT(error_of([&] { file.write(0, bytes_in(memory)); }), HasSubstr("open for reading"));
}

TEST_P(BlockFileTest, WhatIsNotAlignedIsAnError) {
  const TempDirectory dir;
  BlockFile file(make_file(dir, 8 * page), GetParam());
  const Buffer memory(4 * page);
  const auto all = bytes_in(memory);
  for (const std::int64_t offset : {-4096, 1, 512})
    EXPECT_THAT(error_of([&] { file.read(offset, all); }), HasSubstr("not aligned to 4096"));
  EXPECT_THAT(error_of([&] { file.read(0, all.first(page + 512)); }), HasSubstr("4608 bytes"));
  EXPECT_THAT(error_of([&] { file.write(0, all.subspan(512, page)); }), HasSubstr("address"));
}

TEST_P(BlockFileTest, AllocatesNothingOnceWarm) {
  const TempDirectory dir;
  BlockFile file(make_file(dir, 64 * page), GetParam());
  const Buffer memory(64 * page);
  const auto both = [&] {
    BlockRequest write = file.write(0, bytes_in(memory).first(32 * page));
    BlockRequest read = file.read(32 * 4096, bytes_in(memory).last(32 * page));
    write.wait();
    read.wait();
  };
  both();
  const long before = allocation_count();
  for (int i = 0; i < 20; ++i) both();
  EXPECT_EQ(allocation_count() - before, 0);
}

TEST(BlockFile, ImpossibleOptionsAreErrors) {
  const TempDirectory dir;
  const std::string path = make_file(dir, page);
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{5000}, std::int64_t{1} << 31})
    EXPECT_THAT(error_of([&] { BlockFile(path, {.block_bytes = bytes, .memory = {}}); }),
                HasSubstr("aio.block_size"));
  for (const int depth : {0, 100'000})
    EXPECT_THAT(error_of([&] { BlockFile(path, {.queue_depth = depth, .memory = {}}); }),
                HasSubstr("aio.queue_depth"));
}

TEST_P(BlockFileTest, RegisteredMemoryWorksAsOther) {
  const TempDirectory dir;
  const Buffer registered(300 * page);
  const Buffer other(300 * page);
  BlockFile::Options options = GetParam();
  options.block_bytes = 7 * 4096;
  options.memory = {bytes_in(registered).first(100 * page), bytes_in(registered).last(100 * page)};
  BlockFile file(make_file(dir, 0), options);
  fill_random(bytes_in(registered), 1);
  file.write(0, bytes_in(registered)).wait();
  file.read(0, bytes_in(other)).wait();
  EXPECT_TRUE(std::ranges::equal(bytes_in(registered), bytes_in(other)));
  fill_random(bytes_in(other), 2);
  file.write(0, bytes_in(other)).wait();
  file.read(0, bytes_in(registered)).wait();
  EXPECT_TRUE(std::ranges::equal(bytes_in(registered), bytes_in(other)));
}

}  // namespace
}  // namespace triax
