#pragma once
// A Plan is what a rank does in one training step: a flat list of instructions, the same for all ranks
// of a pipeline stage. It is a pure function of shapes; no MPI, no tensors, no device here.
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace triax {

enum class OpKind : std::uint8_t {
  // compute on (chunk, layer, microbatch)
  Forward,
  Recompute,  // the forward pass again, to fill a dropped frame
  Backward,
  DropFrame,  // give the saved activations of (chunk, layer, microbatch) back
  DropInput,  // give the input of (chunk, layer, microbatch) back (forward-only plans)
  // pipeline neighbours, on (chunk, microbatch); Start posts the message, Wait completes it
  SendActivationStart, SendActivationWait, RecvActivationStart, RecvActivationWait,
  SendGradientStart, SendGradientWait, RecvGradientStart, RecvGradientWait,
  // gradients and parameters of a block
  TensorSum,                // sum what is partial over the tensor axis (norms under sequence parallelism)
  ReduceStart, ReduceWait,  // over the data axis: all-reduce or (ZeRO >= 1) reduce-scatter
  TiedSum,                  // sum the tied embedding's gradient over first and last stage
  GradientNorm,             // global norm and clip factor
  Step,                     // optimizer on this rank's shard of the block
  GatherStart, GatherWait   // ZeRO 1: updated parameters over the data axis
};

struct Op {
  OpKind kind;
  int chunk = 0;       // model chunk of this stage
  int layer = 0;       // layer within the chunk
  int microbatch = 0;
  int block = 0;       // parameter block of this stage
  auto operator<=>(const Op&) const = default;
};

using Plan = std::vector<Op>;
using Plans = std::vector<Plan>;  // one per pipeline stage

/// A flat block of parameters: one gradient bucket, one collective, one optimizer shard.
struct BlockUse {
  std::vector<std::pair<int, int>> layers;  // (chunk, layer) that write its gradient
  bool tensor_sum = false;                  // parts of its gradient are partial over the tensor axis
  bool tied = false;                        // its gradient is summed over first and last stage
  auto operator<=>(const BlockUse&) const = default;
};

/// What a schedule needs to know of the model and the grid.
struct PlanShape {
  int stages = 1;
  int chunks = 1;        // model chunks a stage (interleaved schedules)
  int microbatches = 1;
  /// Layers of each chunk: layers[stage][chunk]. Global chunk g lives on stage g % stages as chunk g / stages.
  std::vector<std::vector<int>> layers;
  /// Parameter blocks of each stage.
  std::vector<std::vector<BlockUse>> blocks;
  /// Layers whose frame is recomputed: recompute[stage][chunk][layer]; empty: none.
  std::vector<std::vector<std::vector<bool>>> recompute;
  /// Memory pool that each layer's frame comes from (layers with frames of equal size share one):
  /// frame_pool[stage][chunk][layer]; empty: one pool for all.
  std::vector<std::vector<std::vector<int>>> frame_pool;
  bool data_parallel = false;    // reduce gradients over the data axis
  bool shard_optimizer = false;  // ZeRO 1: step a shard, then gather
};

/// Most buffers in use at once on a stage.
struct Peaks {
  int boundaries = 0;          // layer inputs, and gradients of layer inputs
  std::vector<int> frames;     // by pool
};

/// "F c0 l3 m2", one instruction.
std::string text_of(const Op& op);
/// A plan as text, one line an instruction with its position.
std::string text_of(const Plan& plan);

}  // namespace triax
