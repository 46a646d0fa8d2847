#pragma once
// A Plan is what a rank does in one training step: a flat list of instructions, the same for all
// ranks of a pipeline stage. It is a pure function of shapes; no MPI, no tensors, no device here.
//
// Instructions work on four kinds of things:
//   activation(chunk, l, m)  input of layer l of the chunk for micro-batch m; with l the number of
//                            layers, the chunk's output. StageLayout::boundary() numbers them.
//   gradient(chunk, l, m)    gradient of the loss by that activation, numbered alike
//   frame(chunk, l, m)       what the layer keeps from its forward for its backward pass
//   block b                  part of the stage's parameters, with gradient and optimizer state
// The model's first layer (the embedding) has no input activation, its last (the head with the
// loss) has no output activation; neither has the gradient that would belong to it.
#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace triax {

enum class OpKind : std::uint8_t {
  // Compute, on (chunk, layer, microbatch).
  Forward,    // reads activation l; acquires activation l + 1 and the frame
  Recompute,  // forward again: reads activation l, acquires the frame; the next compute is Backward
  Backward,   // reads frame, activation l, gradient l + 1; acquires gradient l; releases the read
  DropFrame,  // releases the frame after Forward, for Recompute or (forward-only plans) for good
  DropInput,  // releases activation l (forward-only plans, where no Backward does)

  // Messages between pipeline neighbours, on (chunk, microbatch). Start posts the message, Wait
  // completes it. They match by (activation or gradient, global chunk, microbatch), in any order.
  SendActivationStart,  // reads the chunk's output, which may not be touched until
  SendActivationWait,   // releases it
  RecvActivationStart,  // acquires the chunk's input, activation 0, which may be read after
  RecvActivationWait,
  SendGradientStart,  // reads gradient 0 of the chunk, which may not be touched until
  SendGradientWait,   // releases it
  RecvGradientStart,  // acquires the gradient of the chunk's output, which may be read after
  RecvGradientWait,

  // Gradients and parameters, on (block), where the shape asks for it. Up to ZeRO 1 a block sees
  // each once, in this order. From ZeRO 2 on its gradient is whole only for a while, once a
  // micro-batch or more: GradientOpen to ReduceWait; TensorSum then follows the last ReduceWait.
  GradientOpen,  // ZeRO 2: acquires the whole gradient; `microbatch` is the first to write it
  TensorSum,     // sum what is partial over the tensor axis (norms under sequence parallelism)
  ReduceStart,   // over the data axis: all-reduce or (ZeRO 1) reduce-scatter
  ReduceWait,    // ZeRO 2: adds the result to this rank's shard and releases the whole gradient
  TiedSum,       // sum the tied gradient, reduced (ZeRO 1: the shard), over first and last stage
  GradientNorm,  // on no block: global norm and clip factor, once, when all gradients are final
  Step,          // optimizer on this rank's shard of the block
  // ZeRO 1: updated parameters over the data axis, after Step. ZeRO 3: acquires the whole
  // parameters, before each instruction that reads them
  GatherStart,
  GatherWait,
  Release  // ZeRO 3: releases the whole parameters, which may not be there when they are stepped
};
inline constexpr int op_kind_count = static_cast<int>(OpKind::Release) + 1;

/// One instruction. Fields that its kind does not use are 0; layer is -1 (the whole chunk) in the
/// Forward and Backward of a chunk-level plan, before expand_layers.
struct Op {
  OpKind kind;
  int chunk = 0;  // model chunk of this stage
  int layer = 0;  // layer within the chunk
  int microbatch = 0;
  int block = 0;  // parameter block of this stage
  auto operator<=>(const Op&) const = default;
};

/// Which fields an instruction uses.
struct OpFields {
  bool chunk = false;
  bool layer = false;
  bool microbatch = false;
  bool block = false;
};
/// kind must be one of OpKind's (std::out_of_range otherwise).
OpFields fields_of(OpKind kind);

using Plan = std::vector<Op>;
using Plans = std::vector<Plan>;  // one per pipeline stage

/// A layer that reads a block's parameters in its forward pass and writes their gradient in its
/// backward pass.
struct LayerUse {
  int chunk = 0;
  int layer = 0;
  bool writes_forward = false;  // part of the gradient is written by Forward already (the head)
  bool reads_backward = true;   // Backward reads the parameters too
  auto operator<=>(const LayerUse&) const = default;
  bool is(const Op& op) const { return op.chunk == chunk && op.layer == layer; }
};

/// A flat block of parameters: one gradient bucket, one collective, one optimizer shard.
struct BlockUse {
  std::vector<LayerUse> layers = {};  // each layer once, at least one
  bool tensor_sum = false;            // parts of its gradient are partial over the tensor axis
  bool tied = false;                  // its gradient is summed over first and last stage
  bool persistent = false;            // ZeRO 3: the parameters stay whole, as in ZeRO 2
  std::int64_t elements = 1;
  int pool = 0;  // of the buffers for whole gradients and parameters, from 0 (one size a pool)
  auto operator<=>(const BlockUse&) const = default;
};

/// What of a block's state is cut over the data axis (Rajbhandari et al. 2020).
enum class ZeroStage : std::uint8_t { none, optimizer, gradients, parameters };

/// What a schedule needs to know of the model and the grid.
struct PlanShape {
  int stages = 1;
  int chunks = 1;  // model chunks a stage (interleaved schedules)
  int microbatches = 1;
  /// Layers of each chunk, at least 1: layers[stage][chunk]. Global chunk g lives on stage g %
  /// stages as chunk g / stages.
  std::vector<std::vector<int>> layers = {};
  /// Parameter blocks of each stage; empty: none. With stages > 1 either no block is tied, or
  /// exactly one on the first and one on the last stage; on one stage a tied tensor is one block
  /// that two layers write.
  std::vector<std::vector<BlockUse>> blocks = {};
  /// Layers whose frame is recomputed: recompute[stage][chunk][layer]; empty: none.
  std::vector<std::vector<std::vector<bool>>> recompute = {};
  /// Memory pool that each layer's frame comes from (layers with frames of equal size share one):
  /// frame_pool[stage][chunk][layer], counted from 0; empty: one pool for all.
  std::vector<std::vector<std::vector<int>>> frame_pool = {};
  bool data_parallel = false;  // reduce gradients over the data axis
  ZeroStage zero = ZeroStage::none;
  /// Elements whose reduction may be under way while compute goes on (one block is allowed always):
  /// what bounds MPI's own memory for it. 0: none.
  std::int64_t reduce_ahead = std::numeric_limits<std::int64_t>::max();
  /// ZeRO 3: elements gathered ahead of their use (one block is allowed always); 0: none. And the
  /// most that is gathered at once, which stops the gathering ahead.
  std::int64_t gather_ahead = 0;
  std::int64_t gathered_limit = std::numeric_limits<std::int64_t>::max();

  bool shards_optimizer() const { return zero >= ZeroStage::optimizer; }
  bool shards_gradients() const { return zero >= ZeroStage::gradients; }
  /// The block's parameters are whole only between GatherWait and Release.
  bool shards_parameters(const BlockUse& block) const {
    return zero == ZeroStage::parameters && !block.persistent;
  }

  bool recomputes(int stage, int chunk, int layer) const;
  int pool(int stage, int chunk, int layer) const;
};

/// std::invalid_argument where the parts of the shape do not fit each other.
void check_shape(const PlanShape& shape);

/// The most that is in use at once on a stage.
struct Peaks {
  int boundaries = 0;          // activations and gradients together
  int messages = 0;            // messages started and not yet waited for
  std::vector<int> frames;     // by pool
  std::vector<int> gradients;  // whole gradients of blocks (ZeRO 2), by pool
  std::vector<int> gathered;   // whole parameters of blocks (ZeRO 3), by pool
};

/// One instruction: "F c0 l3 m2", "send act c0 m1 start", "reduce b4 wait".
std::string text_of(const Op& op);
/// A plan as text, one line an instruction with its position, counted from 0.
std::string text_of(const Plan& plan);

}  // namespace triax
