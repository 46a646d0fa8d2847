// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans a round of CheckpointLoader: who reads which chunk, and to whom it is sent. Pure
// arithmetic: every rank computes the same plan from the offers of all ranks. Internal to io/.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace triax {

/// Nodes and their memory per round. node_of: node of each rank. By node: own: bytes of each rank's
/// own memory, enough for its largest chunk; room: bytes of memory shared by the node's ranks, for
/// chunks that several of them need, enough for one chunk per two ranks.
struct LoadNodes {
  std::vector<int> node_of;
  std::vector<std::int64_t> room, own;
};

/// Location of a chunk for a rank.
struct LoadPlace {
  enum class Kind : std::uint8_t {
    own,     // own memory of the duty with index `at` of this round
    shared,  // byte `at` of the round's shared buffer
    kept     // the chunk kept from an earlier round
  };
  Kind kind = Kind::own;
  std::int64_t at = 0;
  bool operator==(const LoadPlace&) const = default;
};

/// A chunk that this rank reads or receives.
struct LoadDuty {
  std::int64_t block;
  LoadPlace place;      // own or shared
  bool lands_own;       // lands in own memory first, which a disk fills faster
  int from;             // the rank that sends it; -1: read from disk
  std::vector<int> to;  // ranks to send it to
  int tag;              // of these messages
  bool operator==(const LoadDuty&) const = default;
};

/// One rank's plan of a round.
struct LoadRound {
  bool empty = true;              // no rank needs anything
  bool shared = false;            // some chunk is for several ranks (all in shared memory are)
  std::vector<LoadPlace> places;  // of the next chunks of this rank's offer
  std::vector<LoadDuty> duties;
  struct Keep {
    std::int64_t block;
    LoadPlace place;
  };
  std::optional<Keep> keep;  // a chunk to copy: this rank needs it again soon
};

/// Plans rounds for one rank from the offers of all ranks. `bytes_of`: memory of a chunk. The first
/// chunk of every rank always fits. Each chunk is read from disk once per round: on each node that
/// needs it, one of the ranks that need it brings it in through its own memory; between nodes it
/// travels along a binomial tree. A rank that soon needs a chunk of the round again keeps a copy,
/// of one chunk at a time. (Where two shards meet in a chunk, one rank needs it first and the other
/// last.)
class LoadPlanner {
 public:
  using BytesOf = std::function<std::int64_t(std::int64_t)>;
  LoadPlanner(LoadNodes nodes, int rank, BytesOf bytes_of);

  /// Whether some rank may need more than it has offered; then all ranks must call offer().
  bool wants_offers() const;
  /// Sets the offers: for each rank `width` numbers of the next chunks it needs, after those
  /// accepted so far; -1 after the last one.
  void offer(std::vector<std::int64_t> blocks, std::size_t width);
  LoadRound next();

 private:
  LoadNodes nodes_;
  std::vector<std::vector<int>> ranks_on_;  // by node
  int rank_;
  BytesOf bytes_of_;
  std::vector<std::int64_t> offers_;
  std::size_t width_ = 0;
  std::vector<std::size_t> taken_;  // chunks accepted of each rank's offer
  std::vector<std::int64_t> kept_;  // chunk kept by each rank
  std::vector<std::int64_t>
      read_;  // bytes read by each rank so far, to balance reads between rounds
};

}  // namespace triax
