#pragma once
// Follows what of one stage's blocks is in a store, and comes into memory for a while: parts of the
// optimizer state, and shards of the parameters.
#include <vector>

#include "src/schedule/plan.hpp"
#include "src/schedule/verify/buffer_states.hpp"

namespace triax {

class StoreLedger {
 public:
  explicit StoreLedger(const std::vector<BlockUse>& blocks);

  // All of these throw std::logic_error where the instruction may not stand here.
  /// An instruction of OpGroup::store. Whether a gathering reads the shard is the caller's concern.
  void execute(const Op& op);
  /// A Step needs its part's optimizer state, and the shard of the parameters, which it changes: in
  /// memory, or in the store, of which there is no copy then.
  /// True when all parts of the block are stepped.
  bool step(const Op& op);
  /// Gathering reads the shard.
  void require_loaded(int block) const;
  /// All is back in the store.
  void check_stored() const;

  int state_peak() const { return state_buffers_.peaks().front(); }
  const std::vector<int>& shard_peaks() const { return shard_buffers_.peaks(); }

 private:
  // Of what is not in a store: present.
  enum class State : std::uint8_t { stored, coming, present, going };
  struct Part {
    State state = State::present;
    bool stepped = false;
    int buffer = 0;  // its number among the parts of all blocks
  };
  struct Shard {
    Residence residence = Residence::sharded;
    State state = State::present;
    bool changed = false;  // since it was loaded
    int pool = 0;
  };
  void move_part(const Op& op);
  void move_shard(const Op& op);

  std::vector<std::vector<Part>> parts_;  // by block; one part where it is stepped as a whole
  std::vector<int> kept_parts_;           // by block
  std::vector<Shard> shards_;             // by block
  FrameStates state_buffers_, shard_buffers_;
};

}  // namespace triax
