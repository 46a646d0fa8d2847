// SPDX-License-Identifier: Apache-2.0
#include "src/executor/step_buffers.hpp"

#include <algorithm>
#include <utility>

namespace triax {

StepMemory BufferPlan::memory() const {
  StepMemory total;
  total.boundaries =
      BufferPool::bytes_of(boundary_bytes, boundaries) + BufferPool::bytes_of(part_bytes, parts);
  for (std::size_t pool = 0; pool < frames.size(); ++pool)
    total.frames += BufferPool::bytes_of(frame_bytes[pool], frames[pool]);
  total.scratch = static_cast<std::int64_t>(scratch_bytes);
  total.inputs = BufferPool::bytes_of(input_bytes(), inputs);
  return total;
}

std::size_t boundary_bytes(const BatchShape& shape, std::int64_t width) {
  return static_cast<std::size_t>(shape.local_rows * width) * size_of(shape.type);
}

std::size_t part_bytes(std::size_t boundary_bytes, int tensor_size) {
  const auto ranks = static_cast<std::size_t>(tensor_size);
  return (boundary_bytes + ranks - 1) / ranks;
}

BufferPlan plan_buffers(const Stage& stage, const BatchShape& shape, std::int64_t width,
                        const Peaks& peaks, const PlanShape& plan_shape) {
  BufferPlan plan;
  plan.space = shape.space;
  plan.boundary_bytes = boundary_bytes(shape, width);
  plan.boundaries = peaks.boundaries;
  plan.parts = peaks.parts;
  plan.inputs = peaks.inputs;
  if (plan.parts > 0) {
    const int ranks = stage.place().tensor.size;
    plan.part_bytes = part_bytes(plan.boundary_bytes, ranks);
    plan.boundary_bytes = static_cast<std::size_t>(ranks) * plan.part_bytes;
  }
  plan.frames = peaks.frames;
  plan.frame_bytes.resize(peaks.frames.size(), 0);
  const auto index = static_cast<std::size_t>(stage.place().stage);
  plan.frame_pools = plan_shape.frame_pool[index];
  if (!plan_shape.operand_pool.empty()) plan.operand_pools = plan_shape.operand_pool[index];
  const auto fit = [&](int pool, std::size_t size) {
    std::size_t& bytes = plan.frame_bytes[static_cast<std::size_t>(pool)];
    bytes = std::max(bytes, size);
  };
  bool recompute = false;
  for (int chunk = 0; chunk < stage.chunks(); ++chunk)
    for (int layer = 0; layer < stage.layers(chunk); ++layer) {
      const auto c = static_cast<std::size_t>(chunk), l = static_cast<std::size_t>(layer);
      fit(plan.frame_pools[c][l], stage.layer(chunk, layer).frame_bytes(shape));
      if (plan_shape.defers_weights(stage.place().stage, chunk, layer))
        fit(plan.operand_pools[c][l], stage.layer(chunk, layer).operand_bytes(shape));
      recompute |= stage.layer(chunk, layer).recomputed();
    }
  plan.scratch_bytes =
      stage.scratch_bytes(shape) + (recompute ? (plan.boundary_bytes + 63) / 64 * 64 : 0);
  return plan;
}

StepBuffers::StepBuffers(const BufferPlan& plan, const StageLayout& layout, int microbatches,
                         const Shape& boundary, DType type)
    : layout_(layout),
      microbatches_(microbatches),
      boundary_(boundary),
      type_(type),
      pools_(plan.frame_pools),
      operand_pools_(plan.operand_pools),
      boundary_pool_("activations", plan.boundary_bytes, plan.boundaries, plan.source()),
      part_pool_("activations", plan.part_bytes, plan.parts, plan.source()),
      partitions_(plan.parts > 0),
      inputs_(plan.input_bytes(), plan.inputs,
              static_cast<std::size_t>(layout.layers() * microbatches), plan.space),
      boundary_slots_(static_cast<std::size_t>(2 * layout.boundaries() * microbatches), none),
      frame_slots_(static_cast<std::size_t>(layout.layers() * microbatches), none),
      operand_slots_(frame_slots_),
      part_slots_(frame_slots_),
      scratch_memory_(plan.source().take("scratch", plan.scratch_bytes)),
      scratch_(scratch_memory_.data(), scratch_memory_.bytes(), scratch_memory_.space()) {
  for (std::size_t pool = 0; pool < plan.frames.size(); ++pool)
    frame_pools_.emplace_back("frames", plan.frame_bytes[pool], plan.frames[pool], plan.source());
}

std::span<std::byte> StepBuffers::idle_memory() const {
  if (scratch_memory_.space() != MemorySpace::host) return {};
  std::span<std::byte> largest(static_cast<std::byte*>(scratch_memory_.data()),
                               scratch_memory_.bytes());
  const auto look_at = [&](const BufferPool& pool) {
    if (pool.memory().size() > largest.size()) largest = pool.memory();
  };
  look_at(boundary_pool_);
  look_at(part_pool_);
  std::ranges::for_each(frame_pools_, look_at);
  return largest;
}

StepMemory StepBuffers::memory() const {
  StepMemory total{boundary_pool_.bytes() + part_pool_.bytes(), 0,
                   static_cast<std::int64_t>(scratch_memory_.bytes()), inputs_.bytes()};
  for (const BufferPool& pool : frame_pools_) total.frames += pool.bytes();
  return total;
}

std::size_t StepBuffers::index(Kind kind, int id, int microbatch) const {
  const int row = (kind == Kind::gradient ? layout_.boundaries() : 0) + id;
  return static_cast<std::size_t>(row * microbatches_ + microbatch);
}

std::size_t StepBuffers::frame_index(const Op& op) const {
  return static_cast<std::size_t>(layout_.layer_index(op.chunk, op.layer) * microbatches_ +
                                  op.microbatch);
}

Tensor StepBuffers::acquire(Kind kind, int id, int microbatch) {
  boundary_slots_[index(kind, id, microbatch)] = boundary_pool_.acquire();
  return at(kind, id, microbatch);
}

int StepBuffers::slot(Kind kind, int id, int microbatch) const {
  const int slot = boundary_slots_[index(kind, id, microbatch)];
  check(slot != none, "boundary {} of micro-batch {} is not in memory", id, microbatch);
  return slot;
}

Tensor StepBuffers::at(Kind kind, int id, int microbatch) const {
  return boundary_pool_.at(slot(kind, id, microbatch), type_, boundary_);
}

Tensor StepBuffers::bytes_at(Kind kind, int id, int microbatch) const {
  return boundary_pool_.at(slot(kind, id, microbatch));
}

void StepBuffers::release(Kind kind, int id, int microbatch) {
  boundary_pool_.release(std::exchange(boundary_slots_[index(kind, id, microbatch)], none));
}

Tensor StepBuffers::acquire_frame(const Op& op) {
  frame_slots_[frame_index(op)] = frame_pools_[pool(pools_, op)].acquire();
  return frame(op);
}

Tensor StepBuffers::frame(const Op& op) const {
  const int slot = frame_slots_[frame_index(op)];
  check(slot != none, "frame of chunk {} layer {} micro-batch {} is not in memory", op.chunk,
        op.layer, op.microbatch);
  return frame_pools_[pool(pools_, op)].at(slot);
}

void StepBuffers::release_frame(const Op& op) {
  frame_pools_[pool(pools_, op)].release(std::exchange(frame_slots_[frame_index(op)], none));
}

Tensor StepBuffers::acquire_operands(const Op& op) {
  operand_slots_[frame_index(op)] = frame_pools_[pool(operand_pools_, op)].acquire();
  return operands(op);
}

Tensor StepBuffers::operands(const Op& op) const {
  const int slot = operand_slots_[frame_index(op)];
  check(slot != none, "operands of chunk {} layer {} micro-batch {} are not in memory", op.chunk,
        op.layer, op.microbatch);
  return frame_pools_[pool(operand_pools_, op)].at(slot);
}

void StepBuffers::release_operands(const Op& op) {
  frame_pools_[pool(operand_pools_, op)].release(
      std::exchange(operand_slots_[frame_index(op)], none));
}

Tensor StepBuffers::acquire_part(const Op& op) {
  part_slots_[frame_index(op)] = part_pool_.acquire();
  return part(op);
}

Tensor StepBuffers::part(const Op& op) const {
  const int slot = part_slots_[frame_index(op)];
  check(slot != none, "part of chunk {} layer {} micro-batch {} is not in memory", op.chunk,
        op.layer, op.microbatch);
  return part_pool_.at(slot);
}

void StepBuffers::release_part(const Op& op) {
  part_pool_.release(std::exchange(part_slots_[frame_index(op)], none));
}

void StepBuffers::start_offload(const Stream& stream, const Op& op) {
  const int input = layout_.boundary(op.chunk, op.layer);
  inputs_.start_offload(stream, frame_index(op),
                        partitions_ ? part(op) : bytes_at(Kind::activation, input, op.microbatch));
}

void StepBuffers::wait_offload(const Stream& stream, const Op& op) {
  inputs_.wait_offload(stream, frame_index(op));
  if (partitions_) return release_part(op);
  release(Kind::activation, layout_.boundary(op.chunk, op.layer), op.microbatch);
}

void StepBuffers::start_reload(const Stream& stream, const Op& op) {
  const int input = layout_.boundary(op.chunk, op.layer);
  if (partitions_)
    acquire_part(op);
  else
    acquire(Kind::activation, input, op.microbatch);
  inputs_.start_reload(stream, frame_index(op),
                       partitions_ ? part(op) : bytes_at(Kind::activation, input, op.microbatch));
}

void StepBuffers::wait_reload(const Stream& stream, const Op& op) {
  inputs_.wait_reload(stream, frame_index(op));
}

}  // namespace triax
