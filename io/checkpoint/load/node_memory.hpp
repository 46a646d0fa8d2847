// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory for checksum chunks, partly shared by the ranks of a node, so that a chunk read by one
// rank is there for all. Internal to io/.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/load/load_round.hpp"
#include "kernels/base/device/device.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/shared_memory.hpp"

namespace triax {

/// Buffers of own memory that each rank has in flight at the disk, for `ranks` ranks on the
/// machine. At least two: a virtual disk may report completions only when it is idle, and a second
/// buffer keeps it busy meanwhile. No more than needed: all buffers together should fit the
/// processor's cache, as cycling through 64 MiB is a third slower than through 16 MiB
/// (benchmarks/results/checkpoint/2026-11-25-checkpoint-2.md).
constexpr int parts_ahead(int ranks) {
  return std::max(2, 4 / ranks);
}

/// Buffers of shared memory: one is used while the chunks of the next round arrive in the other.
constexpr int shared_parts = 2;

/// NodeMemory::bytes() of a rank, for `ranks` ranks on its node, in chunks of a quarter of the
/// window: its own buffers, one kept chunk, and its share of the shared buffers.
constexpr int blocks_of(int ranks) {
  const int shared = ranks == 1 ? 0 : shared_parts * std::max(4, (ranks + 1) / 2);
  return 1 + parts_ahead(ranks) + 1 + (shared + ranks - 1) / ranks;
}
/// Maximum of blocks_of() over all numbers of ranks.
constexpr int most_blocks = blocks_of(2);
static_assert(most_blocks >= std::max({blocks_of(1), blocks_of(3), blocks_of(4), blocks_of(5)}));

/// SharedMemory, created by the node's first rank, and own memory of each rank. Own memory has huge
/// pages, which shared memory seldom has and which a disk fills up to twice as fast. Where the
/// system forbids sharing, each rank has only its own memory and counts as a node.
class NodeMemory {
 public:
  /// Needs of a rank in bytes. all: its chunks together. largest: its largest chunk. window: limit
  /// of a node's buffer, unless the largest chunks need more. No rank gets more than a quarter of
  /// the window: small buffers keep a disk busy and fit the processor's cache.
  struct Need {
    std::int64_t all = 0, largest = 0, window = 0;
  };
  static constexpr int by_machine = -1;
  /// Collective. `node`: ranks with the same number share memory; by_machine: ranks of one machine
  /// do. `lent`: used as own memory if it is large enough; outlives the object.
  NodeMemory(const Ranks& ranks, const Need& need, int node = by_machine,
             std::span<std::byte> lent = {});
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  const LoadNodes& nodes() const { return nodes_; }
  /// Rounds in flight: parts_ahead() of the machine with the most ranks, the same on all ranks.
  int ahead() const { return parts_ - 1; }
  /// Buffers of own memory: one is being used, the others are in flight.
  int parts() const { return parts_; }
  /// First rank that could not share memory, and why; empty: all could. The same on all ranks.
  const std::string& refusal() const { return refusal_; }
  /// A buffer of this rank's own memory, of nodes().own bytes, aligned to a page.
  std::byte* own(int part) const { return own_ + part * own_room_; }
  /// Memory of this rank in bytes, with its share of the node's shared memory, without lent memory.
  std::int64_t bytes() const;
  /// Memory for the chunk that this rank keeps.
  std::byte* kept() const { return own(parts_); }
  /// A buffer of the node's shared memory, of nodes().room bytes; null without shared memory.
  std::byte* shared(int part) const {
    return shared_.data() == nullptr ? nullptr : shared_.data() + part * room_;
  }

 private:
  struct Member {
    std::int64_t node;
    Need need;
  };
  void number(const std::vector<Member>& members);
  void share(const Ranks& ranks, std::vector<Member>& members);
  void part(const std::vector<std::int64_t>& errors, std::vector<Member>& members);

  LoadNodes nodes_;
  std::string refusal_;
  int parts_ = 0;
  std::int64_t room_ = 0, own_room_ = 0;  // buffer bytes on this rank's node
  std::int64_t sharing_ = 1;              // ranks on the node
  Buffer taken_;                          // own memory, unless lent
  std::byte* own_ = nullptr;              // in taken_ or in the lent memory
  SharedMemory shared_;
};

/// Collective. Number of ranks on this rank's machine.
int ranks_on_machine(const Ranks& ranks);

}  // namespace triax
