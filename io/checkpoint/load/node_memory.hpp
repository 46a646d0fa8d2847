#pragma once
// Memory for blocks of files that the ranks of a node share, so that what one of them reads all
// have. Internal to io/.
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

/// Parts of its memory for which each of so many ranks on a machine has requests at the disk. A
/// disk may tell of what it has done only when it has nothing left to do (virtual ones do): then it
/// is given the next at once, and has some more to do meanwhile. But where they can be few, all
/// together not more than a processor's cache holds: what goes round in 64 MiB comes a third slower
/// than in 16 (benchmarks/results/2026-11-25-checkpoint-2.md).
constexpr int parts_ahead(int ranks) {
  return std::max(2, 4 / ranks);
}

/// Of memory that ranks share: one is handed out while the next round's blocks come together.
constexpr int shared_parts = 2;

/// NodeMemory::bytes() of one of so many ranks of a node, in blocks, each a quarter of the window:
/// of its own memory, with one that it keeps, and of what they share.
constexpr int blocks_of(int ranks) {
  const int shared = ranks == 1 ? 0 : shared_parts * std::max(4, (ranks + 1) / 2);
  return 1 + parts_ahead(ranks) + 1 + (shared + ranks - 1) / ranks;
}
/// The most that is of any number of ranks.
constexpr int most_blocks = blocks_of(2);
static_assert(most_blocks >= std::max({blocks_of(1), blocks_of(3), blocks_of(4), blocks_of(5)}));

/// SharedMemory, which the node's first rank makes, and memory of each rank's own: in huge pages,
/// which shared memory seldom has, and which a disk fills up to twice as fast. Where the system
/// lets a node's ranks share nothing, each has its own and counts as a node.
class NodeMemory {
 public:
  /// What a rank needs: `all` its blocks take together, the `largest` of them, and the `window`:
  /// what a node's ranks have in a part at most, unless their largest need more. No rank has more
  /// than a quarter of it: small parts keep a disk busy, and the processor's cache holds them.
  struct Need {
    std::int64_t all = 0, largest = 0, window = 0;
  };
  static constexpr int by_machine = -1;
  /// Collective. `node`: ranks that give the same number share memory; by_machine: those that share
  /// a machine do. `lent`: the rank's own, where it is enough; outlives the object.
  NodeMemory(const Ranks& ranks, const Need& need, int node = by_machine,
             std::span<std::byte> lent = {});
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  const LoadNodes& nodes() const { return nodes_; }
  /// Rounds on their way at once: parts_ahead of the machine with most ranks, for all have the
  /// same.
  int ahead() const { return parts_ - 1; }
  /// Of own memory: one is handed out, and is the next's when that is asked for; the others are on
  /// their way.
  int parts() const { return parts_; }
  /// Empty; or which rank of a node could not share, and why: the same on all ranks.
  const std::string& refusal() const { return refusal_; }
  /// A part of this rank's own memory, of nodes().own bytes; begins at a page.
  std::byte* own(int part) const { return own_ + part * own_room_; }
  /// What this rank takes of memory, with its part of what the node's ranks share, without what was
  /// lent.
  std::int64_t bytes() const;
  /// For a block that this rank keeps longer.
  std::byte* kept() const { return own(parts_); }
  /// A part of what the node's ranks share, of nodes().room bytes; null where a rank has its own.
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
  std::int64_t room_ = 0, own_room_ = 0;  // of this rank's node
  std::int64_t sharing_ = 1;              // ranks there
  Buffer taken_;                          // where too little was lent
  std::byte* own_ = nullptr;              // in one or the other
  SharedMemory shared_;
};

/// Collective: how many ranks are on this rank's machine.
int ranks_on_machine(const Ranks& ranks);

}  // namespace triax
