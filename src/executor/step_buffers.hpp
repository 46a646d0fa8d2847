#pragma once
// The activations, gradients and frames that a plan keeps between its instructions, and the scratch
// arena.
#include <cstddef>
#include <span>
#include <vector>

#include "src/executor/host_inputs.hpp"
#include "src/model/stage.hpp"
#include "src/schedule/plan.hpp"
#include "src/schedule/stage_layout.hpp"
#include "src/state/buffer_pool.hpp"

namespace triax {

/// Bytes of a step's buffers by purpose.
struct StepMemory {
  std::int64_t boundaries = 0, frames = 0, scratch = 0;
  std::int64_t inputs = 0;  // of recomputed layers on the host, beside a device
  bool operator==(const StepMemory&) const = default;
};

/// What the buffers of a stage are sized by: everything that is known before the run.
struct BufferPlan {
  std::size_t boundary_bytes = 0;
  int boundaries = 0;
  std::size_t part_bytes = 0;  // of a boundary cut over the tensor ranks, each part as long
  int parts = 0;
  int inputs = 0;                        // of recomputed layers, or their parts, on the host
  std::vector<std::size_t> frame_bytes;  // by pool
  std::vector<int> frames;               // by pool
  std::size_t scratch_bytes = 0;
  MemorySpace space = MemorySpace::host;  // of all of it
  DeviceArena* arena = nullptr;           // that it is cut from; null: each part has its own
  MemorySource source() const { return {space, arena}; }
  /// Of what recomputed layers keep.
  std::size_t input_bytes() const { return parts > 0 ? part_bytes : boundary_bytes; }
  StepMemory memory() const;
};
/// Bytes of an activation between two layers, (local_rows, width), and of its gradient.
std::size_t boundary_bytes(const BatchShape& shape, std::int64_t width);

/// Bytes of a tensor rank's part of it, where it is cut over them: equal parts, the last padded.
std::size_t part_bytes(std::size_t boundary_bytes, int tensor_size);

/// `pools`: frame pool of each layer by [chunk][layer], as in PlanShape.
BufferPlan plan_buffers(const Stage& stage, const BatchShape& shape, std::int64_t width,
                        const Peaks& peaks, const std::vector<std::vector<int>>& pools);

/// Buffers by the numbers that plans use. Taking more than the plan's peaks is an internal error.
class StepBuffers {
 public:
  StepBuffers(const BufferPlan& plan, const StageLayout& layout, int microbatches,
              const Shape& boundary, DType type, std::vector<std::vector<int>> pools);

  enum class Kind { activation, gradient };
  /// Activation or gradient number `id` (StageLayout::boundary) of a micro-batch.
  Tensor acquire(Kind kind, int id, int microbatch);
  Tensor at(Kind kind, int id, int microbatch) const;
  void release(Kind kind, int id, int microbatch);
  /// The frame of (chunk, layer, microbatch).
  Tensor acquire_frame(const Op& op);
  Tensor frame(const Op& op) const;
  void release_frame(const Op& op);

  /// This rank's part of the input of (chunk, layer, microbatch), as bytes.
  Tensor acquire_part(const Op& op);
  Tensor part(const Op& op) const;
  void release_part(const Op& op);
  /// Activation or gradient number `id` as bytes: as many equal parts as there are tensor ranks.
  Tensor bytes_at(Kind kind, int id, int microbatch) const;

  // The input of (chunk, layer, microbatch), or this rank's part of it, to the host and back: see
  // HostInputs. Wait for offload releases it, start of reload acquires it.
  void start_offload(const Stream& stream, const Op& op);
  void wait_offload(const Stream& stream, const Op& op);
  void start_reload(const Stream& stream, const Op& op);
  void wait_reload(const Stream& stream, const Op& op);

  Arena& scratch() { return scratch_; }
  /// The largest piece of all these buffers where they are the host's, for others until a step
  /// begins.
  std::span<std::byte> idle_memory() const;
  StepMemory memory() const;

 private:
  static constexpr int none = -1;
  int slot(Kind kind, int id, int microbatch) const;
  std::size_t index(Kind kind, int id, int microbatch) const;
  std::size_t frame_index(const Op& op) const;
  int pool_of(const Op& op) const {
    return pools_[static_cast<std::size_t>(op.chunk)][static_cast<std::size_t>(op.layer)];
  }

  StageLayout layout_;
  int microbatches_;
  Shape boundary_;  // (local_rows, E)
  DType type_;      // of its elements
  std::vector<std::vector<int>> pools_;
  BufferPool boundary_pool_;
  std::vector<BufferPool> frame_pools_;
  BufferPool part_pool_;
  bool partitions_;  // parts are kept of inputs
  HostInputs inputs_;
  std::vector<int> boundary_slots_;  // (kind, boundary, microbatch) -> buffer of the pool
  std::vector<int> frame_slots_;     // (layer, microbatch)
  std::vector<int> part_slots_;      // (layer, microbatch)
  Memory scratch_memory_;
  Arena scratch_;
};

}  // namespace triax
