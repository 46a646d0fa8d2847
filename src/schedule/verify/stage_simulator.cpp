// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/verify/stage_simulator.hpp"

#include <algorithm>
#include <stdexcept>

#include "src/schedule/verify/exchange_ledger.hpp"
#include "src/schedule/verify/require.hpp"

namespace triax {
namespace {

using State = BoundaryStates::State;

int pools_of(const PlanShape& shape, int stage) {
  int pools = 1;
  for (const auto* table : {&shape.frame_pool, &shape.operand_pool})
    if (!table->empty())
      for (const auto& chunk : (*table)[stage])
        for (const int pool : chunk) pools = std::max(pools, pool + 1);
  return pools;
}

bool computes(const Op& op) {
  return group_of(op.kind) == OpGroup::compute;
}

bool is_gradient(OpKind kind) {
  const auto message = message_of(kind);
  return message && message->gradient;
}

bool in_range(bool used, int value, int size) {
  return used ? value >= 0 && value < size : value == 0;
}

}  // namespace

StageSimulator::StageSimulator(const PlanShape& shape, int stage, const Plan& plan, PlanUse use)
    : shape_(shape),
      plan_(plan),
      stage_(stage),
      use_(use),
      layout_(shape, stage),
      boundaries_(2 * layout_.boundaries() * shape.microbatches),
      frames_(2 * layout_.layers() * shape.microbatches, pools_of(shape, stage)),
      parts_(layout_.layers() * shape.microbatches),
      inputs_(layout_.layers() * shape.microbatches),
      blocks_(shape, stage),
      forward_done_(layout_.layers() * shape.microbatches, false),
      backward_done_(forward_done_) {
  for (int c = 0; c < layout_.chunks(); ++c)
    for (int l = 0; l < layout_.layers(c); ++l)
      if (layout_.runs_backward(c, l)) backwards_left_ += shape.microbatches;
}

std::string StageSimulator::place() const {
  const std::string stage = "stage " + std::to_string(stage_);
  if (at_end()) return stage + ", end";
  return stage + ", op " + std::to_string(position_) + " (" + text_of(op()) + ")";
}

void StageSimulator::execute() {
  at_place([&] {
    check_form(op());
    check_use(op());
    apply(op());
  });
}

void StageSimulator::check_end() const {
  at_place([&] {
    check_all_done(forward_done_, OpKind::Forward);
    if (use_ == PlanUse::training) {
      check_all_done(backward_done_, OpKind::Backward);
      blocks_.check_done();
    }
    blocks_.check_released();
    require(boundaries_.in_use() == 0, "activations or gradients are left in use");
    require(frames_.in_use() == 0, "frames, or operands of weight gradients, are left in use");
    require(parts_.in_use() == 0, "parts of inputs are left in use");
    require(inputs_.in_use() == 0, "inputs are left on the host");
  });
}

Peaks StageSimulator::peaks() const {
  return {boundaries_.peak(),
          frames_.peaks(),
          blocks_.gradient_peaks(),
          blocks_.gathered_peaks(),
          blocks_.stores().state_peak(),
          blocks_.stores().shard_peaks(),
          parts_.peak(),
          inputs_.peak()};
}

void StageSimulator::check_form(const Op& op) const {
  require(static_cast<int>(op.kind) < op_kind_count, "there is no such instruction");
  const OpFields used = fields_of(op.kind);
  require(in_range(used.chunk, op.chunk, layout_.chunks()), "there is no such chunk");
  const int layers = used.layer ? layout_.layers(op.chunk) : 0;
  require(in_range(used.layer, op.layer, layers), "there is no such layer");
  require(in_range(used.microbatch, op.microbatch, shape_.microbatches),
          "there is no such micro-batch");
  require(in_range(used.block, op.block, blocks_.size()), "there is no such block");
  require(used.part ? blocks_.has_part(op) : op.part == 0, "there is no such part");
}

void StageSimulator::check_use(const Op& op) const {
  switch (op.kind) {
    case OpKind::Forward:
    case OpKind::SendActivationStart:
    case OpKind::SendActivationWait:
    case OpKind::RecvActivationStart:
    case OpKind::RecvActivationWait:
    case OpKind::ExchangeBegin:
    case OpKind::ExchangeEnd:
      return;
    case OpKind::GatherStart:
    case OpKind::GatherWait:
    case OpKind::Release:
    case OpKind::LoadStart:
    case OpKind::LoadWait:
    case OpKind::Unload:
      return require(use_ == PlanUse::training || blocks_.gathers(op.block),
                     "a forward-only plan has no such instruction");
    case OpKind::DropInput:
      return require(use_ == PlanUse::evaluation || !layout_.runs_backward(op.chunk, op.layer),
                     "the backward pass needs the input");
    case OpKind::DropFrame:
    case OpKind::Recompute:
      if (use_ == PlanUse::training &&
          (op.kind == OpKind::Recompute || layout_.runs_backward(op.chunk, op.layer)))
        require(shape_.recomputes(stage_, op.chunk, op.layer),
                "the shape does not recompute this layer");
      return require(use_ == PlanUse::training || op.kind == OpKind::DropFrame,
                     "a forward-only plan has no such instruction");
    case OpKind::PartitionInput:
    case OpKind::GatherInput:
      require(shape_.partitions(stage_, op.chunk, op.layer),
              "the shape does not partition the input of this layer");
      return require(use_ == PlanUse::training, "a forward-only plan has no such instruction");
    case OpKind::OffloadInputStart:
    case OpKind::OffloadInputWait:
    case OpKind::ReloadInputStart:
    case OpKind::ReloadInputWait:
      require(shape_.offloads(stage_, op.chunk, op.layer),
              "the shape does not offload the input of this layer");
      [[fallthrough]];
    default:
      require(use_ == PlanUse::training, "a forward-only plan has no such instruction");
  }
}

void StageSimulator::apply(const Op& op) {
  switch (group_of(op.kind)) {
    case OpGroup::compute:
      return op.kind == OpKind::Forward          ? forward(op)
             : op.kind == OpKind::Recompute      ? recompute(op)
             : op.kind == OpKind::WeightGradient ? weight_gradient(op)
                                                 : backward(op);
    case OpGroup::buffer:
      return buffer(op);
    case OpGroup::message:
      return message(op);
    case OpGroup::block:
    case OpGroup::store:
      require(op.kind != OpKind::GradientNorm || backwards_left_ == 0, "backwards are yet to come");
      return blocks_.execute(op);
  }
}

void StageSimulator::forward(const Op& op) {
  require(!forward_done_[compute(op)], "it is done twice");
  blocks_.read(op);
  if (use_ == PlanUse::training) blocks_.write(op);
  if (layout_.has_input(op.chunk, op.layer))
    boundaries_.require_valid(activation(op.chunk, op.layer, op.microbatch), "its input");
  if (layout_.has_output(op.chunk, op.layer))
    boundaries_.acquire(activation(op.chunk, op.layer + 1, op.microbatch), State::valid,
                        "its output");
  frames_.acquire(compute(op), pool(op));
  forward_done_[compute(op)] = true;
}

void StageSimulator::recompute(const Op& op) {
  const Op backward{OpKind::Backward, op.chunk, op.layer, op.microbatch};
  const auto next = std::find_if(plan_.begin() + static_cast<std::ptrdiff_t>(position_) + 1,
                                 plan_.end(), computes);
  require(next != plan_.end() && *next == backward, "its backward does not follow at once");
  require(forward_done_[compute(op)], "its forward is yet to come");
  blocks_.read(op);
  if (layout_.has_input(op.chunk, op.layer))
    boundaries_.require_valid(activation(op.chunk, op.layer, op.microbatch), "its input");
  frames_.acquire(compute(op), pool(op));
}

void StageSimulator::backward(const Op& op) {
  require(layout_.runs_backward(op.chunk, op.layer), "no trained parameter needs it");
  require(!backward_done_[compute(op)], "it is done twice");
  blocks_.read(op);
  const bool has_input = layout_.has_input(op.chunk, op.layer);
  const int input = has_input ? activation(op.chunk, op.layer, op.microbatch) : -1;
  if (has_input) {
    boundaries_.require_valid(input, "its input");
    boundaries_.acquire(gradient(op.chunk, op.layer, op.microbatch), State::valid,
                        "the gradient of its input");
  }
  if (shape_.defers_weights(stage_, op.chunk, op.layer))
    frames_.acquire(operands(op), operand_pool(op));
  frames_.release(compute(op), pool(op));
  if (layout_.has_output(op.chunk, op.layer))
    boundaries_.release(gradient(op.chunk, op.layer + 1, op.microbatch), State::valid,
                        "the gradient of its output");
  if (has_input) boundaries_.release(input, State::valid, "its input");
  if (has_input && !layout_.passes_gradient(op.chunk, op.layer))
    boundaries_.release(gradient(op.chunk, op.layer, op.microbatch), State::valid,
                        "the gradient of its input");
  backward_done_[compute(op)] = true;
  --backwards_left_;
  blocks_.write(op);
}

void StageSimulator::weight_gradient(const Op& op) {
  require(shape_.defers_weights(stage_, op.chunk, op.layer),
          "the layer's backward pass computes its weight gradients");
  require(backward_done_[compute(op)], "its backward is yet to come");
  frames_.release(operands(op), operand_pool(op));
  blocks_.write(op);
}

void StageSimulator::message(const Op& op) {
  if (op.kind == OpKind::ExchangeBegin || op.kind == OpKind::ExchangeEnd) return;
  const int c = op.chunk;
  const int m = op.microbatch;
  const int output = layout_.layers(c);
  const bool before = op.kind == OpKind::RecvActivationStart ||
                      op.kind == OpKind::RecvActivationWait ||
                      op.kind == OpKind::SendGradientStart || op.kind == OpKind::SendGradientWait;
  require(before ? layout_.has_message_before(c) : layout_.has_message_after(c),
          "there is no stage at the other end");
  if (is_gradient(op.kind))
    require(before ? layout_.passes_gradient(c, 0) : layout_.runs_backward(c),
            "no trained parameter needs the gradient");
  switch (op.kind) {
    case OpKind::SendActivationStart:
      return start_message(activation(c, output, m), State::sending, "the output");
    case OpKind::SendActivationWait:
      return end_message(activation(c, output, m), State::sending, "the output");
    case OpKind::RecvActivationStart:
      return start_message(activation(c, 0, m), State::receiving, "the input");
    case OpKind::RecvActivationWait:
      return end_message(activation(c, 0, m), State::receiving, "the input");
    case OpKind::SendGradientStart:
      return start_message(gradient(c, 0, m), State::sending, "the gradient");
    case OpKind::SendGradientWait:
      return end_message(gradient(c, 0, m), State::sending, "the gradient");
    case OpKind::RecvGradientStart:
      return start_message(gradient(c, output, m), State::receiving, "the gradient");
    default:
      return end_message(gradient(c, output, m), State::receiving, "the gradient");
  }
}

void StageSimulator::start_message(int index, State state, const char* what) {
  if (state == State::receiving)
    boundaries_.acquire(index, state, what);
  else
    boundaries_.change(index, State::valid, state, what);
}

void StageSimulator::end_message(int index, State state, const char* what) {
  if (state == State::receiving)
    boundaries_.change(index, state, State::valid, what);
  else
    boundaries_.release(index, state, what);
}

void StageSimulator::check_all_done(const std::vector<bool>& done, OpKind kind) const {
  for (int c = 0; c < layout_.chunks(); ++c)
    for (int l = 0; l < layout_.layers(c); ++l)
      for (int m = 0; m < shape_.microbatches; ++m)
        if (const Op op{kind, c, l, m};
            !done[compute(op)] && (kind == OpKind::Forward || layout_.runs_backward(c, l)))
          throw std::logic_error(text_of(op) + " is missing");
}

int StageSimulator::activation(int chunk, int layer, int microbatch) const {
  return layout_.boundary(chunk, layer) * shape_.microbatches + microbatch;
}

int StageSimulator::gradient(int chunk, int layer, int microbatch) const {
  return layout_.boundaries() * shape_.microbatches + activation(chunk, layer, microbatch);
}

int StageSimulator::operands(const Op& op) const {
  return layout_.layers() * shape_.microbatches + compute(op);
}

int StageSimulator::compute(const Op& op) const {
  return layout_.layer_index(op.chunk, op.layer) * shape_.microbatches + op.microbatch;
}

}  // namespace triax
