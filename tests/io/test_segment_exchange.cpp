// Segments come to the ranks that own them, through shared memory and in messages alike.
#include "io/segment_exchange.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <vector>

#include "tests/io/rank_fixtures.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using namespace test;

constexpr std::int64_t weight = std::int64_t{64} << 10;
constexpr std::int64_t length = 1111;  // of a segment
constexpr std::int64_t count = 40;     // of segments in a run
constexpr int runs = 5;                // of the first rank, the others have one less

std::byte expected(std::int64_t offset) {
  return static_cast<std::byte>(offset * 2654435761 >> 16);
}

// Rank r's segment i of a run, in a file of the run's number.
std::int64_t offset_of(std::int64_t i, std::int64_t r) {
  return (i * world_size() + r) * length;
}

// What this rank has in a run, in `memory`; `owner` says whose segment i is.
template <class Owner>
std::vector<OwnedSegment> segments_of(int run, std::byte* memory, Owner&& owner) {
  std::vector<OwnedSegment> segments;
  for (std::int64_t i = 0; i < count; ++i, memory += length) {
    const std::int64_t offset = offset_of(i, world_rank());
    for (std::int64_t b = 0; b < length; ++b) memory[b] = expected(offset + b + run);
    segments.push_back({owner(i), {static_cast<std::size_t>(run), offset, length, memory}});
  }
  return segments;
}

// What this rank was given to write, in bytes. `stage`: where the others read staging(), segments
// are made there.
template <class Owner>
std::int64_t exchange_all(bool share, Owner&& owner, bool stage = false) {
  SegmentExchange exchange(MPI_COMM_WORLD, weight, share);
  std::vector<std::byte> data(static_cast<std::size_t>(count * length));
  std::int64_t got = 0;
  bool any = true;
  for (int run = 0; any; ++run) {
    const int own_runs = world_rank() == 0 ? runs : runs - 1;
    std::vector<OwnedSegment> segments;
    if (run < own_runs)
      segments =
          segments_of(run, stage && exchange.shares() ? exchange.staging() : data.data(), owner);
    any = exchange.run(segments, run + 1 < own_runs, [&](std::span<const DataSegment> taken) {
      std::int64_t end = 0;
      for (const DataSegment& segment : taken) {
        EXPECT_EQ(segment.file, static_cast<std::size_t>(run));
        EXPECT_GE(segment.offset, end) << "not in the file's order";
        end = segment.offset + segment.bytes;
        std::int64_t wrong = 0;
        for (std::int64_t b = 0; b < segment.bytes; ++b)
          wrong += segment.memory[b] != expected(segment.offset + b + run) ? 1 : 0;
        EXPECT_EQ(wrong, 0) << "at " << segment.offset << " of run " << run;
        got += segment.bytes;
      }
    });
    // What was handed out is the others' again: a slow rank may not find the next run's bytes.
    std::ranges::fill(data, std::byte{0xee});
  }
  return got;
}

std::int64_t of_all_runs() {
  return count * length * (runs + (world_size() - 1) * (runs - 1));
}

std::int64_t sum(std::int64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

TEST(SegmentExchange, BringsEachSegmentToItsOwner) {
  const auto owner = [](std::int64_t i) { return int(i) % world_size(); };
  for (const bool share : {true, false})
    for (const bool stage : {true, false})
      EXPECT_EQ(sum(exchange_all(share, owner, stage)), of_all_runs()) << share << stage;
}

// What lies where the others read it is not copied: who writes there later changes what they read.
TEST(SegmentExchange, LeavesWhatIsStagedWhereItLies) {
  SegmentExchange exchange(MPI_COMM_WORLD, weight);
  const int next = (world_rank() + 1) % world_size();
  std::byte first{1}, second{2};
  std::vector<OwnedSegment> segments = {{next, {0, 0, 1, &first}}};
  exchange.run(segments, true, [](auto) {});
  ASSERT_EQ(exchange.shares(), world_size() > 1);
  if (!exchange.shares()) return;
  std::byte* const staged = exchange.staging();
  *staged = second;
  segments = {{next, {0, 0, 1, staged}}};
  exchange.run(segments, false, [&](std::span<const DataSegment> taken) {
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(*taken[0].memory, second);
    MPI_Barrier(MPI_COMM_WORLD);
    *staged = first;
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(*taken[0].memory, first);
  });
  EXPECT_NE(exchange.staging(), staged) << "the others may read it still";
}

// Each in turn has none, or is of another namespace: all go over to messages together.
TEST(SegmentExchange, SendsMessagesWhereARankHasNoMemoryToShare) {
  const auto owner = [](std::int64_t i) { return int(i) % world_size(); };
  for (const auto call : {std::uint32_t{SYS_fallocate}, std::uint32_t{SYS_readlinkat}})
    for (int rank = 0; rank < world_size(); ++rank) {
      std::int64_t got = 0;
      const auto body = [&] { got = exchange_all(true, owner); };
      if (world_rank() == rank)
        with_refused(call, {}, ENOSPC, body);
      else
        body();
      EXPECT_EQ(sum(got), of_all_runs()) << rank;
    }
}

// Who gets more than it takes at a time is sent it in steps, where it is sent.
TEST(SegmentExchange, BringsAllToOneOwner) {
  const int last = world_size() - 1;
  for (const bool share : {true, false})
    EXPECT_EQ(exchange_all(share, [&](std::int64_t) { return last; }),
              world_rank() == last ? of_all_runs() : 0);
}

}  // namespace
}  // namespace triax
