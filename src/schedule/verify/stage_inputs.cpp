// SPDX-License-Identifier: Apache-2.0
// Simulation of a layer's saved input: dropped, sharded over tensor ranks, or moved.

#include "src/schedule/verify/require.hpp"
#include "src/schedule/verify/stage_simulator.hpp"

namespace triax {
namespace {

using State = BoundaryStates::State;

}  // namespace

void StageSimulator::buffer(const Op& op) {
  switch (op.kind) {
    case OpKind::DropFrame:
      return frames_.release(compute(op), pool(op));
    case OpKind::DropInput:
      require(layout_.has_input(op.chunk, op.layer), "the model's first layer has no input");
      require(forward_done_[compute(op)], "its forward is yet to come");
      return boundaries_.release(activation(op.chunk, op.layer, op.microbatch), State::valid,
                                 "its input");
    case OpKind::PartitionInput:
      return partition_input(op);
    case OpKind::GatherInput:
      return gather_input(op);
    default:
      return move_input(op);
  }
}

void StageSimulator::partition_input(const Op& op) {
  require(forward_done_[compute(op)], "its forward is yet to come");
  parts_.acquire(compute(op), State::valid, "the part of its input");
  boundaries_.release(activation(op.chunk, op.layer, op.microbatch), State::valid, "its input");
}

void StageSimulator::gather_input(const Op& op) {
  boundaries_.acquire(activation(op.chunk, op.layer, op.microbatch), State::valid, "its input");
  parts_.release(compute(op), State::valid, "the part of its input");
}

// Moves an input between device and host: it occupies memory at both ends until the move ends.
void StageSimulator::move_input(const Op& op) {
  constexpr const char *here = "its input, or the part of it,", *there = "its input on the host";
  const bool part = shape_.partitions(stage_, op.chunk, op.layer);
  BoundaryStates& kept = part ? parts_ : boundaries_;
  const int index = part ? compute(op) : activation(op.chunk, op.layer, op.microbatch);
  switch (op.kind) {
    case OpKind::OffloadInputStart:
      require(forward_done_[compute(op)], "its forward is yet to come");
      inputs_.acquire(compute(op), State::receiving, there);
      return kept.change(index, State::valid, State::sending, here);
    case OpKind::OffloadInputWait:
      inputs_.change(compute(op), State::receiving, State::valid, there);
      return kept.release(index, State::sending, here);
    case OpKind::ReloadInputStart:
      inputs_.change(compute(op), State::valid, State::sending, there);
      return kept.acquire(index, State::receiving, here);
    default:
      inputs_.release(compute(op), State::sending, there);
      return kept.change(index, State::receiving, State::valid, here);
  }
}

}  // namespace triax
