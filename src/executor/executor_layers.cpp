// SPDX-License-Identifier: Apache-2.0
// Instructions that compute a layer, and the inputs of recomputed ones.
#include "src/executor/executor.hpp"

namespace triax {
namespace {
using Kind = StepBuffers::Kind;
}  // namespace

Context Executor::context(const Op& op) {
  return {.stream = stream_,
          .tensor = grid_.tensor(),
          .shard = stage_.place().tensor,
          .shape = shape_,
          .scratch = buffers_.scratch(),
          .tokens = input_->batch->tokens(op.microbatch),
          .labels = input_->batch->labels(op.microbatch),
          .positions = input_->batch->positions(op.microbatch),
          .training = optimizer_ != nullptr,
          .loss_scale = input_->loss_scale,
          .z_coefficient = input_->z_coefficient,
          .loss_sum = loss_tensor(),
          .dropout_key = input_->dropout_key,
          .first_sample = input_->batch->first_row(op.microbatch),
          .embedding_noise = input_->embedding_noise,
          .pairs = pairs_of(op)};
}

// Null unless the loss is one of pairs.
const PairBatch* Executor::pairs_of(const Op& op) {
  if (!input_->pairs) return nullptr;
  const Tensor reference = input_->batch->reference(op.microbatch);
  pairs_ = {*input_->pairs, input_->makes_reference ? Tensor{} : reference,
            input_->makes_reference ? reference : Tensor{}, sums_.tensor().slice(0, 1, pair_sums)};
  return &pairs_;
}

void Executor::forward(const Op& op) {
  const int input = layout_.boundary(op.chunk, op.layer);
  const Tensor x = layout_.has_input(op.chunk, op.layer)
                       ? buffers_.at(Kind::activation, input, op.microbatch)
                       : Tensor{};
  const Tensor y = layout_.has_output(op.chunk, op.layer)
                       ? buffers_.acquire(Kind::activation, input + 1, op.microbatch)
                       : Tensor{};
  const Tensor frame = buffers_.acquire_frame(op);
  stage_.layer(op.chunk, op.layer)
      .forward(context(op), store_.layer(op.chunk, op.layer, op.microbatch), x, y, frame);
  if (input_->search != nullptr) [[unlikely]]
    search_forward(op, y);
}

void Executor::search_forward(const Op& op, const Tensor& y) {
  const int chunk = layout_.global_chunk(op.chunk);
  input_->search->forward(stream_, chunk, op.layer, stage_.name(op.chunk, op.layer), y);
  if (layout_.has_output(op.chunk, op.layer)) return;
  grid_.drain(stream_);
  input_->search->loss(sums_.read(stream_), chunk, op.layer);
}

void Executor::recompute(const Op& op) {
  const Tensor x =
      buffers_.at(Kind::activation, layout_.boundary(op.chunk, op.layer), op.microbatch);
  const Tensor frame = buffers_.acquire_frame(op);
  const ArenaScope scope(buffers_.scratch());
  const Tensor y = buffers_.scratch().take("recomputed output", x.dtype(), x.shape());
  stage_.layer(op.chunk, op.layer)
      .forward(context(op), store_.layer(op.chunk, op.layer, op.microbatch), x, y, frame);
}

void Executor::partition_input(const Op& op) {
  const int input = layout_.boundary(op.chunk, op.layer);
  const Tensor whole = buffers_.bytes_at(Kind::activation, input, op.microbatch);
  const Tensor part = buffers_.acquire_part(op);
  const std::int64_t bytes = part.bytes();
  copy(stream_, part, whole.slice(0, grid_.tensor().rank() * bytes, bytes));
  buffers_.release(Kind::activation, input, op.microbatch);
}

void Executor::gather_input(const Op& op) {
  const int input = layout_.boundary(op.chunk, op.layer);
  buffers_.acquire(Kind::activation, input, op.microbatch);
  const Tensor whole = buffers_.bytes_at(Kind::activation, input, op.microbatch);
  grid_.tensor().all_gather(stream_, whole, buffers_.part(op)).wait(stream_);
  buffers_.release_part(op);
}

void Executor::backward(const Op& op) {
  const int input = layout_.boundary(op.chunk, op.layer);
  const bool has_input = layout_.has_input(op.chunk, op.layer);
  const bool has_output = layout_.has_output(op.chunk, op.layer);
  const int m = op.microbatch;
  const Tensor x = has_input ? buffers_.at(Kind::activation, input, m) : Tensor{};
  const Tensor dy = has_output ? buffers_.at(Kind::gradient, input + 1, m) : Tensor{};
  const Tensor dx = has_input ? buffers_.acquire(Kind::gradient, input, m) : Tensor{};
  Context ctx = context(op);
  Arena operands;
  if (buffers_.keeps_operands(op)) {
    const Tensor memory = buffers_.acquire_operands(op);
    operands = Arena(memory.data(), static_cast<std::size_t>(memory.bytes()), memory.space());
    ctx.operands = &operands;
  }
  stage_.layer(op.chunk, op.layer)
      .backward(ctx, store_.layer(op.chunk, op.layer, op.microbatch), x, dy, dx,
                buffers_.frame(op));
  if (input_->search != nullptr) [[unlikely]]
    input_->search->backward(stream_, layout_.global_chunk(op.chunk), op.layer,
                             stage_.name(op.chunk, op.layer), dx);
  buffers_.release_frame(op);
  if (has_input) buffers_.release(Kind::activation, input, m);
  if (has_input && !layout_.passes_gradient(op.chunk, op.layer))
    buffers_.release(Kind::gradient, input, m);
  if (has_output) buffers_.release(Kind::gradient, input + 1, m);
}

void Executor::weight_gradient(const Op& op) {
  stage_.layer(op.chunk, op.layer)
      .weight_gradients(context(op), store_.layer(op.chunk, op.layer, op.microbatch),
                        buffers_.operands(op));
  buffers_.release_operands(op);
}

}  // namespace triax
