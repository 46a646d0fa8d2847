#pragma once
// Who reads what in a round of CheckpointLoader, and to whom it goes on. Pure arithmetic: every
// rank computes the same from what all offer. Internal to io/.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace triax {

/// Where ranks are: `node_of` has a number for each rank; by that number, `own` has the bytes that
/// each rank of a node has for a round's blocks, for any of its blocks at least; and `room` those
/// that they share for what several of them need: for a block of each two of them at least.
struct LoadNodes {
  std::vector<int> node_of;
  std::vector<std::int64_t> room, own;
};

/// Where a block is handed out to a rank.
struct LoadPlace {
  enum class Kind : std::uint8_t {
    own,     // where it comes to own memory, by the duty of this round with the number `at`
    shared,  // from this byte of the round's part of what a node's ranks share
    kept     // where the rank keeps the one of an earlier round
  };
  Kind kind = Kind::own;
  std::int64_t at = 0;
  bool operator==(const LoadPlace&) const = default;
};

/// A block that this rank brings in.
struct LoadDuty {
  std::int64_t block;
  LoadPlace place;      // own or shared
  bool lands_own;       // comes to own memory first: that is better for a disk
  int from;             // the rank that sends it; -1: it comes from the disk
  std::vector<int> to;  // the ranks that it is sent on to
  int tag;              // of those messages
  bool operator==(const LoadDuty&) const = default;
};

/// What one rank has to do with a round.
struct LoadRound {
  bool empty = true;              // no rank needs anything any more
  bool shared = false;            // some block is for several ranks: so is all in shared memory
  std::vector<LoadPlace> places;  // of the next blocks of this rank's offer
  std::vector<LoadDuty> duties;
  struct Keep {
    std::int64_t block;
    LoadPlace place;
  };
  std::optional<Keep> keep;  // to be copied: this rank needs it again soon
};

/// Makes rounds of what all ranks offer, for one of them. `bytes_of`: what a block takes of memory.
/// All first blocks fit. Each block leaves the disk once a round: on each node that needs it one of
/// the ranks that do brings it in, through its own memory; between nodes it goes along a binomial
/// tree. A rank that comes back soon to a block of the round (where shards meet, one has its end
/// first and the other its beginning last) keeps a copy, of one block at a time, and does not need
/// it again.
class LoadPlanner {
 public:
  using BytesOf = std::function<std::int64_t(std::int64_t)>;
  LoadPlanner(LoadNodes nodes, int rank, BytesOf bytes_of);

  /// Whether some rank may need more than it has offered: offer() then, on all ranks.
  bool wants_offers() const;
  /// For each rank the next blocks that it needs, behind those accepted so far: `width` numbers, -1
  /// behind the last one that it needs at all.
  void offer(std::vector<std::int64_t> blocks, std::size_t width);
  LoadRound next();

 private:
  LoadNodes nodes_;
  std::vector<std::vector<int>> ranks_on_;  // each node
  int rank_;
  BytesOf bytes_of_;
  std::vector<std::int64_t> offers_;
  std::size_t width_ = 0;
  std::vector<std::size_t> taken_;  // of each rank's offer
  std::vector<std::int64_t> kept_;  // by each rank
  std::vector<std::int64_t> read_;  // likewise, so far: a round may have a block alone
};

}  // namespace triax
