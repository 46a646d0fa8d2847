// SPDX-License-Identifier: Apache-2.0
#pragma once
// State of one stage's blocks that are in a store, followed through a plan: parts of the optimizer
// state and parameter shards, which come into memory for a while.
#include <vector>

#include "src/schedule/plan.hpp"
#include "src/schedule/verify/buffer_states.hpp"

namespace triax {

class StoreLedger {
 public:
  explicit StoreLedger(const std::vector<BlockUse>& blocks);

  // All of these throw std::logic_error if the instruction may not stand here.
  /// An instruction of OpGroup::store. The caller checks whether a gather is reading the shard.
  void execute(const Op& op);
  /// A Momentum needs its part's optimizer state in memory, and changes it. Returns true when all
  /// parts of the block have theirs.
  bool momentum(const Op& op);
  /// A Step needs its part's optimizer state in memory. It changes the parameter shard, in memory
  /// or in the store; in the second case no copy may be in memory. Returns true when all parts of
  /// the block are stepped.
  bool step(const Op& op);
  /// Requires that the shard, which a gather reads, is in memory.
  void require_loaded(int block) const;
  /// Requires that everything is back in the store.
  void check_stored() const;

  int state_peak() const { return state_buffers_.peaks().front(); }
  const std::vector<int>& shard_peaks() const { return shard_buffers_.peaks(); }

 private:
  // State of a part or shard; `present` if it is not in a store.
  enum class State : std::uint8_t { stored, coming, present, going };
  struct Part {
    State state = State::present;
    int buffer = 0;                          // number among the parts of all blocks
    bool momentum = false, stepped = false;  // done
    bool changed = false;                    // since its fetch
  };
  struct Shard {
    Residence residence = Residence::sharded;
    State state = State::present;
    bool changed = false;  // since its load
    int pool = 0;
  };
  void move_part(const Op& op);
  void move_shard(const Op& op);

  std::vector<std::vector<Part>> parts_;  // by block; one part if it is stepped whole
  std::vector<int> kept_parts_;           // by block
  std::vector<Shard> shards_;             // by block
  FrameStates state_buffers_, shard_buffers_;
};

}  // namespace triax
