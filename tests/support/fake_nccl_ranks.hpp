// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks of a communicator of the fake NCCL: one slot of shared memory per rank.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/base/process/shared_memory.hpp"
#include "kernels/base/wait.hpp"

namespace triax::test {

/// Arguments of a collective, which must be the same on all ranks.
struct FakeCall {
  enum class Kind : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast };
  Kind kind;
  int type, op, root;
  std::uint64_t count;
  bool operator==(const FakeCall&) const = default;
};

struct FakeSlot {
  static constexpr std::size_t data_bytes = std::size_t{4} << 20;
  // Number of collectives whose input this rank has published (put), whose output it has taken
  // (taken), and up to which it waits for others (wanted).
  std::atomic<std::uint64_t> put{0}, taken{0}, wanted{0};
  std::atomic<std::uint64_t> meetings{0};
  FakeCall call{};
  int color = 0, key = 0;  // of ncclCommSplit
  SharedMemory::Name made{};
  std::array<std::byte, data_bytes> data{};

  // Messages to and from one other rank.
  static constexpr std::size_t most_peers = 4, message_bytes = std::size_t{128} << 10;
  struct Message {
    int type = 0;
    std::uint64_t count = 0;
    std::array<std::byte, message_bytes> data{};
  };
  struct With {
    std::atomic<std::uint64_t> sent{0}, posted{0}, taken{0};
    // Number of the last own message whose other end this rank waits for.
    std::atomic<std::uint64_t> awaits_receive{0}, awaits_send{0};
    // The last messages of two exchanges, which is enough: a rank that starts a second exchange has
    // seen the other end start the first, and one that starts a third has seen the other end start
    // the second, having taken all of the first.
    std::array<Message, 4> messages;
  };
  std::array<With, most_peers> with;
};

/// Shared memory named by an NCCL id, where ranks publish the names of their slots.
struct FakeMeetingPlace {
  static constexpr std::size_t most_ranks = 16;
  struct Entry {
    SharedMemory::Name slot{};
    std::atomic<bool> there{false};
  };
  std::array<Entry, most_ranks> ranks;
};

template <class Done>
void wait_until(const Done& done) {
  for (Patience patience(WaitPolicy::yield); !done(); patience.pause()) {
  }
}

class FakeRanks {
 public:
  /// Collective over `size` ranks that know the name of one meeting place.
  FakeRanks(const SharedMemory::Name& place, int rank, int size) : rank_(rank) {
    const SharedMemory meeting = SharedMemory::open(place, sizeof(FakeMeetingPlace));
    check(meeting.data() != nullptr && size <= int{FakeMeetingPlace::most_ranks},
          "the fake NCCL found no meeting place for {} ranks", size);
    auto& entries = reinterpret_cast<FakeMeetingPlace*>(meeting.data())->ranks;
    memory_.resize(static_cast<std::size_t>(size));
    own_memory() = SharedMemory::make("triax-fake-nccl", sizeof(FakeSlot));
    check(own_memory().error() == 0, "no memory for the fake NCCL");
    auto& entry = entries[static_cast<std::size_t>(rank)];
    entry.slot = own_memory().name();
    entry.there = true;
    for (std::size_t r = 0; r < memory_.size(); ++r) {
      wait_until([&] { return entries[r].there.load(); });
      if (&memory_[r] != &own_memory())
        memory_[r] = SharedMemory::open(entries[r].slot, sizeof(FakeSlot));
      check(memory_[r].data() != nullptr, "rank {} of the fake NCCL was not found", r);
    }
    meet();
  }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(memory_.size()); }
  FakeSlot& of(int rank) const {
    return *reinterpret_cast<FakeSlot*>(memory_[static_cast<std::size_t>(rank)].data());
  }
  FakeSlot& own() const { return of(rank_); }
  template <class Predicate>
  bool all(const Predicate& predicate) const {
    for (int r = 0; r < size(); ++r)
      if (!predicate(of(r))) return false;
    return true;
  }
  /// Blocks until all ranks have called it as often as this one.
  void meet() const {
    const std::uint64_t mine = ++own().meetings;
    wait_until([&] { return all([&](const FakeSlot& each) { return each.meetings >= mine; }); });
  }

 private:
  SharedMemory& own_memory() { return memory_[static_cast<std::size_t>(rank_)]; }

  int rank_;
  std::vector<SharedMemory> memory_;
};

}  // namespace triax::test
