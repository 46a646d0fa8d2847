// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simulated time of compute: every instruction takes one slot, and starts as soon as its input and
// its predecessor on the stage allow.
#include <optional>
#include <vector>

#include "src/schedule/passes/message_ops.hpp"

namespace triax {

/// The slots of the chunk instructions of all stages.
class Timetable {
 public:
  /// Throws std::logic_error if a chunk needs an input that no chunk makes.
  Timetable(const Plans& plans, const PlanShape& shape);

  int slot(int stage, const Op& op) const { return entries_[index(op, global(stage, op))].slot; }
  /// Slot in which the stage that reads the instruction's output posts the receive (matching by
  /// tag).
  int receive_slot(int stage, const Op& op) const {
    return entries_[index(op, global(stage, op) + direction(op))].receive_slot;
  }

  struct User {
    int stage;
    Op op;
  };
  /// The instruction in the next chunk that reads this one's output, or the gradient it makes; none
  /// for the last chunk of the direction, and of a WeightGradient.
  std::optional<User> user(int stage, const Op& op) const;

 private:
  struct Entry {
    int slot = -1;
    int receive_slot = -1;
  };

  static int direction(const Op& op) { return is_forward(op) ? 1 : -1; }
  int global(int stage, const Op& op) const { return op.chunk * stages_ + stage; }
  int index(const Op& op, int global_chunk) const {
    const int kind = is_forward(op) ? 0 : is_weight_gradient(op) ? 2 : 1;
    return (kind * (last_ + 1) + global_chunk) * microbatches_ + op.microbatch;
  }
  // Enters an instruction; false if its input does not have a slot yet.
  bool enter(const Plan& plan, std::size_t position, int stage);

  int stages_;
  int last_;  // the model's last global chunk
  int microbatches_;
  std::vector<Entry> entries_;  // by (kind, global chunk, microbatch)
};

}  // namespace triax
