// SPDX-License-Identifier: Apache-2.0
#include "src/executor/executor.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/comm/device/device_messages.hpp"

namespace triax {
namespace {
using Kind = StepBuffers::Kind;
using Payload = PipelineMessages::Payload;
}  // namespace

Executor::Executor(const Stream& stream, const Plan& plan, const Stage& stage,
                   const StageLayout& layout, const BatchShape& shape, StepBuffers& buffers,
                   PipelineMessages& messages, ParameterStore& store, Optimizer* optimizer,
                   ProcessGrid& grid)
    : stream_(stream),
      plan_(plan),
      stage_(stage),
      layout_(layout),
      shape_(shape),
      buffers_(buffers),
      messages_(messages),
      store_(store),
      optimizer_(optimizer),
      grid_(grid),
      sums_(store.memory(), "numbers", sum_count),
      ahead_(store.wait()) {
  check(stage.use() == StageUse::run, "a stage built for planning (StageUse::plan) cannot run");
}

StepOutput Executor::run(const StepInput& input) {
  input_ = &input;
  output_ = {};
  sums_.clear(stream_);
  ProgressBoard& board = grid_.board();
  const auto activity = optimizer_ != nullptr ? Activity::training : Activity::evaluation;
  board.set_activity(static_cast<int>(activity));
  for (std::size_t at = 0; at < plan_.size(); ++at) {
    board.set_position(static_cast<int>(at));
    try {
      if (input.stamps != nullptr) input.stamps[at].begin = stamp();
      execute(plan_[at]);
      if (input.stamps != nullptr) input.stamps[at].end = stamp();
      ahead_.behind(plan_[at].kind, stream_);
      store_.progress();  // messages make progress only when they are tested
      messages_.progress();
    } catch (const DeviceMessagesFailed& error) {
      throw DeviceMessagesFailed(at_position(at, error));
    } catch (const Error& error) {
      throw Error(at_position(at, error));
    }
  }
  // A training step reads its loss in gradient_norm(), or later on a device. Work after the norm
  // may still be running.
  if (optimizer_ == nullptr) {
    grid_.drain(stream_);
    read_sums();
  }
  board.set_activity(static_cast<int>(Activity::between_steps));
  return output_;
}

std::string Executor::at_position(std::size_t at, const Error& error) const {
  return fmt::format("{}, plan position {} ({}): {}", grid_.place(), at, text_of(plan_[at]),
                     error.what());
}

void Executor::execute(const Op& op) {
  const int m = op.microbatch;
  const int chunk_begin = layout_.boundary(op.chunk, 0);
  const int chunk_end = layout_.boundary(op.chunk, layout_.layers(op.chunk));
  switch (op.kind) {
    case OpKind::Forward:
      forward(op);
      break;
    case OpKind::Recompute:
      recompute(op);
      break;
    case OpKind::Backward:
      backward(op);
      break;
    case OpKind::WeightGradient:
      weight_gradient(op);
      break;
    case OpKind::DropFrame:
      buffers_.release_frame(op);
      break;
    case OpKind::DropInput:
      buffers_.release(Kind::activation, layout_.boundary(op.chunk, op.layer), m);
      break;
    case OpKind::PartitionInput:
      partition_input(op);
      break;
    case OpKind::GatherInput:
      gather_input(op);
      break;
    case OpKind::OffloadInputStart:
      buffers_.start_offload(stream_, op);
      break;
    case OpKind::OffloadInputWait:
      buffers_.wait_offload(stream_, op);
      break;
    case OpKind::ReloadInputStart:
      buffers_.start_reload(stream_, op);
      break;
    case OpKind::ReloadInputWait:
      buffers_.wait_reload(stream_, op);
      break;
    case OpKind::SendActivationStart:
      messages_.start_send(stream_, Payload::activation, op,
                           buffers_.at(Kind::activation, chunk_end, m));
      break;
    case OpKind::SendActivationWait:
      messages_.wait_send(stream_, Payload::activation, op);
      buffers_.release(Kind::activation, chunk_end, m);
      break;
    case OpKind::RecvActivationStart:
      messages_.start_receive(stream_, Payload::activation, op,
                              buffers_.acquire(Kind::activation, chunk_begin, m));
      break;
    case OpKind::RecvActivationWait:
      messages_.wait_receive(stream_, Payload::activation, op);
      break;
    case OpKind::SendGradientStart:
      messages_.start_send(stream_, Payload::gradient, op,
                           buffers_.at(Kind::gradient, chunk_begin, m));
      break;
    case OpKind::SendGradientWait:
      messages_.wait_send(stream_, Payload::gradient, op);
      buffers_.release(Kind::gradient, chunk_begin, m);
      break;
    case OpKind::RecvGradientStart:
      messages_.start_receive(stream_, Payload::gradient, op,
                              buffers_.acquire(Kind::gradient, chunk_end, m));
      break;
    case OpKind::RecvGradientWait:
      messages_.wait_receive(stream_, Payload::gradient, op);
      break;
    case OpKind::ExchangeBegin:
      messages_.begin_exchange();
      break;
    case OpKind::ExchangeEnd:
      messages_.end_exchange(stream_);
      break;
    case OpKind::GradientOpen:
      store_.open_gradient(op.block, m);
      break;
    case OpKind::ReplicaSum:
      store_.sum_over_replicas(stream_, op.block);
      break;
    case OpKind::TensorSum:
      store_.sum_over_tensor(stream_, op.block);
      break;
    case OpKind::ReduceStart:
      store_.start_reduce(stream_, op.block);
      break;
    case OpKind::ReduceWait:
      store_.wait_reduce(stream_, op.block);
      break;
    case OpKind::TiedSum:
      store_.sum_tied(stream_, op.block);
      break;
    case OpKind::GradientNorm:
      gradient_norm();
      break;
    case OpKind::Momentum:
      optimizer_->momentum(stream_, op.block, op.part, input_->optimizer);
      break;
    case OpKind::DirectionGather:
      optimizer_->gather_direction(stream_, op.block);
      break;
    case OpKind::Orthogonalize:
      optimizer_->orthogonalize(stream_, op.block);
      break;
    case OpKind::DirectionBroadcast:
      optimizer_->broadcast_direction(stream_, op.block);
      break;
    case OpKind::Step:
      optimizer_->step(stream_, op.block, op.part, input_->optimizer);
      break;
    case OpKind::GatherStart:
      store_.start_gather(stream_, op.block, op.part);
      break;
    case OpKind::GatherWait:
      store_.wait_gather(stream_, op.block, op.part);
      break;
    case OpKind::Release:
      store_.release(op.block);
      break;
    case OpKind::FetchStart:
      optimizer_->start_fetch(op.block, op.part);
      break;
    case OpKind::FetchWait:
      optimizer_->wait_fetch(op.block, op.part);
      break;
    case OpKind::StoreStart:
      optimizer_->start_store(op.block, op.part);
      break;
    case OpKind::StoreWait:
      optimizer_->wait_store(op.block, op.part);
      break;
    case OpKind::LoadStart:
      store_.start_load(op.block);
      break;
    case OpKind::LoadWait:
      store_.wait_load(stream_, op.block);
      break;
    case OpKind::Unload:
      store_.unload(stream_, op.block);
      break;
    case OpKind::SaveStart:
      store_.start_save(stream_, op.block);
      break;
    case OpKind::SaveWait:
      store_.wait_save(op.block);
      break;
  }
}

void Executor::read_sums() {
  const std::span<const double> sums = sums_.read_all(stream_);
  output_.loss_sum = sums.front();
  std::ranges::copy(sums.subspan(1), output_.pairs.begin());
}

// A NonFiniteSearch runs a skipped step again: the device changes nothing before rearm(). Numbers
// of pairs are never late: they are read here.
void Executor::gradient_norm() {
  if (optimizer_->decides_on_device()) {
    const bool counts = stage_.has_head() && grid_.tensor_rank() == 0;
    output_.late = optimizer_->late_gradient_norm(stream_, grid_.everywhere(), input_->fp16_scale,
                                                  counts ? loss_tensor() : Tensor{});
    if (!input_->pairs) return store_.end_gradients();
    grid_.drain(stream_);
    read_sums();
  } else {
    grid_.drain(stream_);
    read_sums();
    output_.grad_norm =
        optimizer_->gradient_norm(stream_, grid_.world(), input_->fp16_scale,
                                  std::isfinite(output_.loss_sum) && input_->search == nullptr);
  }
  store_.end_gradients();
}

}  // namespace triax
