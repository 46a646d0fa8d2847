// SPDX-License-Identifier: Apache-2.0
#pragma once
// One stage in simulation: the effect of its instructions on its own buffers and blocks. verify.cpp
// simulates their waits for other stages.
#include <stdexcept>
#include <string>
#include <vector>

#include "src/schedule/stage_layout.hpp"
#include "src/schedule/verify/block_ledger.hpp"
#include "src/schedule/verify/buffer_states.hpp"
#include "src/schedule/verify/verify.hpp"

namespace triax {

class StageSimulator {
 public:
  /// Both references must outlive the simulator.
  StageSimulator(const PlanShape& shape, int stage, const Plan& plan, PlanUse use);

  bool at_end() const { return position_ == plan_.size(); }
  const Op& op() const { return plan_[position_]; }
  /// "stage 1, op 37 (B c0 l3 m2)"
  std::string place() const;
  /// Calls check(), and adds the place to a std::logic_error of it.
  template <class Check>
  void at_place(const Check& check) const {
    try {
      check();
    } catch (const std::logic_error& error) {
      throw std::logic_error(place() + ": " + error.what());
    }
  }

  /// Executes the current instruction. Throws std::logic_error, with the place, if it may not stand
  /// here.
  void execute();
  /// Moves to the next instruction.
  void advance() { ++position_; }
  /// Throws std::logic_error, at the end, if something is missing or left behind.
  void check_end() const;

  Peaks peaks() const;

 private:
  void check_form(const Op& op) const;
  void check_use(const Op& op) const;
  void apply(const Op& op);
  void buffer(const Op& op);
  void forward(const Op& op);
  void recompute(const Op& op);
  void backward(const Op& op);
  void weight_gradient(const Op& op);
  void partition_input(const Op& op);
  void gather_input(const Op& op);
  void move_input(const Op& op);
  void message(const Op& op);
  void start_message(int index, BoundaryStates::State state, const char* what);
  void end_message(int index, BoundaryStates::State state, const char* what);
  void check_all_done(const std::vector<bool>& done, OpKind kind) const;

  int activation(int chunk, int layer, int microbatch) const;
  int gradient(int chunk, int layer, int microbatch) const;
  int compute(const Op& op) const;  // index of (chunk, layer, microbatch)
  int pool(const Op& op) const { return shape_.pool(stage_, op.chunk, op.layer); }
  int operands(const Op& op) const;  // index of the layer's operands among the frames
  int operand_pool(const Op& op) const { return shape_.operand_pool[stage_][op.chunk][op.layer]; }

  const PlanShape& shape_;
  const Plan& plan_;
  int stage_;
  PlanUse use_;
  StageLayout layout_;
  std::size_t position_ = 0;
  BoundaryStates boundaries_;
  FrameStates frames_;     // and operands of weight gradients
  BoundaryStates parts_;   // by compute()
  BoundaryStates inputs_;  // in host memory
  BlockLedger blocks_;
  std::vector<bool> forward_done_;  // by compute()
  std::vector<bool> backward_done_;
  int backwards_left_ = 0;
};

}  // namespace triax
