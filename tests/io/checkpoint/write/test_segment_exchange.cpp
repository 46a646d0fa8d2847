// SPDX-License-Identifier: Apache-2.0
// Segments reach the ranks that own them, through shared memory and by messages.
#include "io/checkpoint/write/segment_exchange.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <vector>

#include "tests/io/rank_fixtures.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using namespace test;

constexpr std::int64_t weight = std::int64_t{64} << 10;
constexpr std::int64_t length = 1111;  // bytes of a segment
constexpr std::int64_t count = 40;     // segments per run()
constexpr int runs = 5;                // of the first rank; the others have one less

enum class Way : std::uint8_t {
  messages,
  copied,  // copied by the exchange to shared memory
  staged   // created in shared memory
};

std::byte expected(std::int64_t offset) {
  return static_cast<std::byte>(offset * 2654435761 >> 16);
}

// File offset of rank r's segment i of a run(). Segment i lies in file i % 2 of the run(), last
// segment first.
std::int64_t offset_of(std::int64_t i, std::int64_t r) {
  return ((count - 1 - i) * world_size() + r) * length;
}

std::size_t file_of(std::int64_t i, int run) {
  return static_cast<std::size_t>(2 * run + i % 2);
}

// This rank's segments of a run(), in `memory`. owner(i): the owner of segment i.
template <class Owner>
std::vector<OwnedSegment> segments_of(int run, std::byte* memory, Owner&& owner) {
  std::vector<OwnedSegment> segments;
  for (std::int64_t i = 0; i < count; ++i, memory += length) {
    const std::int64_t offset = offset_of(i, world_rank());
    for (std::int64_t b = 0; b < length; ++b) memory[b] = expected(offset + b + run);
    segments.push_back({owner(i), {file_of(i, run), offset, length, memory}});
  }
  return segments;
}

// A Take that checks the segments this rank gets and adds their bytes to `got`.
SegmentExchange::Take takes(int run, std::int64_t& got) {
  return [run, &got](std::span<const DataSegment> taken) {
    DataSegment last{file_of(0, run), 0, 0, nullptr};
    for (const DataSegment& segment : taken) {
      EXPECT_LE(segment.file, file_of(1, run));
      EXPECT_FALSE(before_in_file(segment, last)) << "not in the file's order";
      EXPECT_TRUE(segment.file != last.file || segment.offset >= last.offset + last.bytes);
      last = segment;
      std::int64_t wrong = 0;
      for (std::int64_t b = 0; b < segment.bytes; ++b)
        wrong += segment.memory[b] != expected(segment.offset + b + run) ? 1 : 0;
      EXPECT_EQ(wrong, 0) << "at " << segment.offset << " of run " << run;
      got += segment.bytes;
    }
  };
}

// Runs all exchanges and returns the bytes that this rank got to write.
template <class Owner>
std::int64_t exchange_all(Way way, Owner&& owner) {
  SegmentExchange exchange(MPI_COMM_WORLD, weight);
  if (way != Way::messages) exchange.meet();
  std::vector<std::byte> data(static_cast<std::size_t>(count * length));
  std::int64_t got = 0;
  bool any = true;
  for (int run = 0; any; ++run) {
    const int own_runs = world_rank() == 0 ? runs : runs - 1;
    std::vector<OwnedSegment> segments;
    if (run < own_runs)
      segments = segments_of(run, way == Way::staged ? exchange.staging() : data.data(), owner);
    const auto outcome = exchange.run(segments, run + 1 < own_runs, takes(run, got));
    EXPECT_EQ(outcome.failure, nullptr);
    any = outcome.any_more;
    // Overwrites the data after run() has returned: a slow rank must not see later bytes.
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

constexpr std::array ways = {Way::messages, Way::copied, Way::staged};

int dealt(std::int64_t i) {
  return static_cast<int>(i / 2) % world_size();
}

TEST(SegmentExchange, BringsEachSegmentToItsOwner) {
  for (const Way way : ways) EXPECT_EQ(sum(exchange_all(way, dealt)), of_all_runs()) << int(way);
}

// Staged data are not copied: a later write to staging() changes what the others read.
TEST(SegmentExchange, LeavesWhatIsStagedWhereItLies) {
  SegmentExchange exchange(MPI_COMM_WORLD, weight);
  exchange.meet();
  ASSERT_TRUE(exchange.shares());
  std::byte* const staged = exchange.staging();
  *staged = std::byte{2};
  std::vector<OwnedSegment> segments = {{(world_rank() + 1) % world_size(), {0, 0, 1, staged}}};
  exchange.run(segments, false, [&](std::span<const DataSegment> taken) {
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(*taken[0].memory, std::byte{2});
    MPI_Barrier(MPI_COMM_WORLD);
    *staged = std::byte{1};
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(*taken[0].memory, std::byte{1});
  });
  EXPECT_NE(exchange.staging(), staged) << "the others may read it still";
}

// The largest number of segments, so short that their list is longer than their bytes.
TEST(SegmentExchange, TakesAllThatItsWeightAllows) {
  constexpr std::int64_t bytes = 3;
  for (const Way way : ways) {
    SegmentExchange exchange(MPI_COMM_WORLD, weight);
    if (way != Way::messages) exchange.meet();
    std::vector<std::byte> data(static_cast<std::size_t>(weight));
    std::byte* const memory = way == Way::staged ? exchange.staging() : data.data();
    std::vector<OwnedSegment> segments;
    std::int64_t used = 0;
    const auto next = [&] {
      const auto i = std::ssize(segments);
      return DataSegment{0, i * bytes, bytes, memory + i * bytes};
    };
    for (; used + SegmentExchange::weight(next()) <= weight;
         used += SegmentExchange::weight(next()))
      segments.push_back({(world_rank() + 1) % world_size(), next()});
    for (std::int64_t i = 0; i < std::ssize(segments) * bytes; ++i) memory[i] = expected(i);
    const auto all = std::ssize(segments);
    std::int64_t right = 0;
    const auto outcome = exchange.run(segments, false, [&](std::span<const DataSegment> taken) {
      EXPECT_EQ(std::ssize(taken), all);
      for (const DataSegment& one : taken)
        for (std::int64_t b = 0; b < one.bytes; ++b)
          right += one.memory[b] == expected(one.offset + b) ? 1 : 0;
    });
    EXPECT_EQ(outcome.failure, nullptr);
    EXPECT_EQ(right, all * bytes) << int(way);
  }
}

// Each rank in turn fails with its segments for others, then with theirs for it; the others go on.
TEST(SegmentExchange, AFailureOfOneIsItsOwn) {
  for (const Way way : ways)
    for (int rank = 0; rank < world_size(); ++rank) {
      SegmentExchange exchange(MPI_COMM_WORLD, weight);
      if (way != Way::messages) exchange.meet();
      std::vector<std::byte> data(static_cast<std::size_t>(2 * weight));
      for (int run = 0; run < 5; ++run) {
        const bool fails = world_rank() == rank && run % 2 == 1;
        auto segments =
            segments_of(run, way == Way::staged ? exchange.staging() : data.data(), dealt);
        // More bytes for another rank than the weight allows.
        if (fails && run == 1 && world_size() > 1)
          segments.push_back({(rank + 1) % world_size(), {0, 0, 2 * weight, data.data()}});
        std::int64_t got = 0;
        const SegmentExchange::Take take = takes(run, got);
        const auto outcome =
            exchange.run(segments, run < 4, [&](std::span<const DataSegment> taken) {
              if (fails && (run == 3 || world_size() == 1)) throw std::bad_alloc();
              take(taken);
            });
        EXPECT_EQ(outcome.failure != nullptr, fails);
        EXPECT_EQ(outcome.any_more, run < 4);
        std::int64_t lost = 0;  // all segments of the failed rank, or all for it
        for (std::int64_t i = 0; i < count && run % 2 == 1; ++i)
          lost += run == 1 || world_size() == 1 ? length
                  : dealt(i) == rank            ? length * world_size()
                                                : 0;
        EXPECT_EQ(sum(got), count * length * world_size() - lost) << run;
      }
    }
}

// Each rank in turn is not willing to share: all ranks switch to messages.
TEST(SegmentExchange, SendsMessagesWhereARankIsNotWilling) {
  for (int rank = 0; rank < world_size(); ++rank) {
    SegmentExchange exchange(MPI_COMM_WORLD, weight);
    exchange.meet(world_rank() != rank);
    EXPECT_FALSE(exchange.shares());
    std::vector<std::byte> data(static_cast<std::size_t>(count * length));
    auto segments = segments_of(0, data.data(), dealt);
    std::int64_t got = 0;
    EXPECT_EQ(exchange.run(segments, false, takes(0, got)).failure, nullptr);
    EXPECT_EQ(sum(got), count * length * world_size());
  }
}

// Each rank in turn has no shared memory, or another pid namespace: all ranks switch to messages.
TEST(SegmentExchange, SendsMessagesWhereARankHasNoMemoryToShare) {
  for (const auto call : {std::uint32_t{SYS_fallocate}, std::uint32_t{SYS_readlinkat}})
    for (int rank = 0; rank < world_size(); ++rank) {
      std::int64_t got = 0;
      const auto body = [&] { got = exchange_all(Way::copied, dealt); };
      if (world_rank() == rank)
        with_refused(call, {}, ENOSPC, body);
      else
        body();
      EXPECT_EQ(sum(got), of_all_runs()) << rank;
    }
}

// A rank that receives more than the weight gets it in several steps, if by messages.
TEST(SegmentExchange, BringsAllToOneOwner) {
  const int last = world_size() - 1;
  for (const Way way : ways)
    EXPECT_EQ(exchange_all(way, [&](std::int64_t) { return last; }),
              world_rank() == last ? of_all_runs() : 0);
}

}  // namespace
}  // namespace triax
