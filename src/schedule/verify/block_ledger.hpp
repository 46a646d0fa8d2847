// SPDX-License-Identifier: Apache-2.0
#pragma once
// State of the parameters and gradients of one stage's blocks, followed through a plan.
#include <string>
#include <vector>

#include "src/schedule/plan.hpp"
#include "src/schedule/verify/buffer_states.hpp"
#include "src/schedule/verify/store_ledger.hpp"

namespace triax {

class BlockLedger {
 public:
  /// The shape must have passed check_shape.
  BlockLedger(const PlanShape& shape, int stage);

  int size() const { return static_cast<int>(blocks_.size()); }
  /// Whether the block's parameters are whole only between GatherWait and Release.
  bool gathers(int block) const { return blocks_[block].sharded; }
  /// Whether the block has the instruction's part.
  bool has_part(const Op& op) const;

  // All of these throw std::logic_error if the instruction may not stand here.
  /// A Forward, Recompute or Backward that reads the parameters of its layer.
  void read(const Op& op) const;
  /// A Forward, Backward or WeightGradient of a training plan, which writes gradients.
  void write(const Op& op);
  /// An instruction on a block, or GradientNorm.
  void execute(const Op& op);
  /// Training: requires that every block and the norm are done.
  void check_done() const;
  /// Requires that no temporary buffer is left in memory.
  void check_released() const;

  const std::vector<int>& gradient_peaks() const { return whole_gradients_.peaks(); }
  const std::vector<int>& gathered_peaks() const { return gathered_.peaks(); }
  const StoreLedger& stores() const { return stores_; }

 private:
  enum class Parameters : std::uint8_t { absent, gathering, whole };
  enum class Gradient : std::uint8_t { shard, open, reducing };

  struct Block {
    BlockUse use;
    bool sharded = false;        // parameters are whole only between GatherWait and Release
    std::vector<OpKind> life;    // instructions it must see after its last write, in order
    std::size_t done = 0;        // how many of `life` it has seen
    int writes_left = 0;         // last writes still to add to its gradient
    std::vector<int> backwards;  // last writes still to come, by micro-batch
    std::vector<OpKind> last;    // last write of a micro-batch, by layer use
    Parameters parameters = Parameters::whole;
    std::vector<Parameters> pieces;  // of updated parameters (ZeRO-1)
    int absent_pieces = 0, gathering_pieces = 0;
    // State of the window in which the gradient is whole (ZeRO-2); below that, of the step.
    Gradient gradient = Gradient::shard;
    int first = 0;              // micro-batch that writes first
    std::vector<bool> written;  // by layer use
    std::vector<bool> weights;  // the same of WeightGradients alone
    int under_way = 0;          // micro-batches that have written and will write again
    std::vector<bool> begun;    // by micro-batch
  };

  void write(Block& block, std::size_t use, const Op& op);
  void open(int index, int microbatch);
  void reduce(int index, OpKind kind);
  void gather(int index, OpKind kind);
  void gather_piece(const Op& op);
  void momentum(const Op& op);
  void step(const Op& op);
  void store(const Op& op);
  void advance(int index, OpKind kind);
  void check_next(int index, OpKind kind) const;

  bool windows_;  // gradients are whole only within windows
  std::vector<Block> blocks_;
  FrameStates whole_gradients_, gathered_;  // by block
  StoreLedger stores_;
  bool norm_done_ = false;
  int direction_ = -1;  // block whose directions are in their buffer; -1: none
};

}  // namespace triax
