#pragma once
// Follows the gradient blocks of one stage through a training plan.
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

class BlockLedger {
 public:
  /// The shape must have passed check_shape.
  BlockLedger(const PlanShape& shape, int stage);

  int size() const { return static_cast<int>(blocks_.size()); }
  /// A backward of this layer was done, of `microbatches` that are due.
  void count_backward(int chunk, int layer);
  /// An instruction on a block, or GradientNorm. std::logic_error where it is not that
  /// instruction's turn.
  void execute(const Op& op);
  /// std::logic_error where a block or the norm is not done.
  void check_end() const;

 private:
  struct Block {
    std::vector<OpKind> life;  // the instructions it must see, in order
    std::size_t done = 0;      // how many it has seen
    int writes_left = 0;       // backwards that have yet to add to its gradient
  };

  void advance(int block, OpKind kind);

  std::vector<Block> blocks_;
  std::vector<std::vector<std::vector<int>>> writers_;  // blocks written by [chunk][layer]
  bool norm_done_ = false;
};

}  // namespace triax
