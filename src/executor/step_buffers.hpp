// SPDX-License-Identifier: Apache-2.0
#pragma once
// Activations, gradients and frames that a plan keeps between its instructions, and the scratch
// arena.
#include <cstddef>
#include <span>
#include <vector>

#include "src/executor/host_inputs.hpp"
#include "src/model/stage/stage.hpp"
#include "src/schedule/plan.hpp"
#include "src/schedule/stage_layout.hpp"
#include "src/state/buffer_pool.hpp"

namespace triax {

/// Bytes of a step's buffers by purpose.
struct StepMemory {
  std::int64_t boundaries = 0, frames = 0, scratch = 0;
  std::int64_t inputs = 0;  // of recomputed layers, in host memory of a run on a device
  bool operator==(const StepMemory&) const = default;
};

/// Sizes and counts of a stage's buffers, known before the run.
struct BufferPlan {
  std::size_t boundary_bytes = 0;
  int boundaries = 0;
  std::size_t part_bytes = 0;  // of a boundary's shard on a tensor rank
  int parts = 0;
  int inputs = 0;                        // of recomputed layers, or their parts, on the host
  std::vector<std::size_t> frame_bytes;  // by pool, of frames and operands
  std::vector<int> frames;               // by pool
  // Pools of each layer's frame and operands by [chunk][layer], as in PlanShape.
  std::vector<std::vector<int>> frame_pools, operand_pools;
  std::size_t scratch_bytes = 0;
  MemorySpace space = MemorySpace::host;  // of all buffers
  DeviceArena* arena = nullptr;           // they are cut from it; null: each has memory of its own
  MemorySource source() const { return {space, arena}; }
  /// Bytes that a recomputed layer keeps of its input.
  std::size_t input_bytes() const { return parts > 0 ? part_bytes : boundary_bytes; }
  StepMemory memory() const;
};
/// Bytes of an activation between two layers, (local_rows, width), and of its gradient.
std::size_t boundary_bytes(const BatchShape& shape, std::int64_t width);

/// Bytes of a boundary's shard where it is cut over the tensor ranks: equal shards, the last
/// padded.
std::size_t part_bytes(std::size_t boundary_bytes, int tensor_size);

/// `plan`: of the stage's model.
BufferPlan plan_buffers(const Stage& stage, const BatchShape& shape, std::int64_t width,
                        const Peaks& peaks, const PlanShape& plan);

/// Buffers under the numbers that plans use. Acquiring more than the plan's peaks is an internal
/// error.
class StepBuffers {
 public:
  StepBuffers(const BufferPlan& plan, const StageLayout& layout, int microbatches,
              const Shape& boundary, DType type);

  enum class Kind { activation, gradient };
  /// Activation or gradient number `id` (StageLayout::boundary) of a micro-batch.
  Tensor acquire(Kind kind, int id, int microbatch);
  Tensor at(Kind kind, int id, int microbatch) const;
  void release(Kind kind, int id, int microbatch);
  /// The frame of (chunk, layer, microbatch).
  Tensor acquire_frame(const Op& op);
  Tensor frame(const Op& op) const;
  void release_frame(const Op& op);
  /// The operands of the weight gradients of (chunk, layer, microbatch), and whether its Backward
  /// leaves any.
  bool keeps_operands(const Op& op) const {
    return !operand_pools_.empty() &&
           operand_pools_[static_cast<std::size_t>(op.chunk)][static_cast<std::size_t>(op.layer)] !=
               no_operands;
  }
  Tensor acquire_operands(const Op& op);
  Tensor operands(const Op& op) const;
  void release_operands(const Op& op);

  /// This rank's shard of the input of (chunk, layer, microbatch), as bytes.
  Tensor acquire_part(const Op& op);
  Tensor part(const Op& op) const;
  void release_part(const Op& op);
  /// Activation or gradient number `id` as bytes: one equal shard per tensor rank.
  Tensor bytes_at(Kind kind, int id, int microbatch) const;

  // Copies of the input of (chunk, layer, microbatch), or of this rank's shard, to the host and
  // back (HostInputs). wait_offload releases the input, start_reload acquires it.
  void start_offload(const Stream& stream, const Op& op);
  void wait_offload(const Stream& stream, const Op& op);
  void start_reload(const Stream& stream, const Op& op);
  void wait_reload(const Stream& stream, const Op& op);

  Arena& scratch() { return scratch_; }
  /// Largest of these buffers in host memory, free for other uses until a step begins; empty on a
  /// device.
  std::span<std::byte> idle_memory() const;
  StepMemory memory() const;

 private:
  static constexpr int none = -1;
  int slot(Kind kind, int id, int microbatch) const;
  std::size_t index(Kind kind, int id, int microbatch) const;
  std::size_t frame_index(const Op& op) const;
  using Pools = std::vector<std::vector<int>>;  // by [chunk][layer]
  static std::size_t pool(const Pools& pools, const Op& op) {
    return static_cast<std::size_t>(
        pools[static_cast<std::size_t>(op.chunk)][static_cast<std::size_t>(op.layer)]);
  }

  StageLayout layout_;
  int microbatches_;
  Shape boundary_;  // (local_rows, E)
  DType type_;      // of boundary elements
  Pools pools_, operand_pools_;
  BufferPool boundary_pool_;
  std::vector<BufferPool> frame_pools_;
  BufferPool part_pool_;
  bool partitions_;  // shards of inputs are kept
  HostInputs inputs_;
  std::vector<int> boundary_slots_;  // (kind, boundary, microbatch) -> buffer of the pool
  std::vector<int> frame_slots_;     // (layer, microbatch)
  std::vector<int> operand_slots_;   // (layer, microbatch)
  std::vector<int> part_slots_;      // (layer, microbatch)
  Memory scratch_memory_;
  Arena scratch_;
};

}  // namespace triax
