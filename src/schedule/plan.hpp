// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Plan is one training step of a rank: a flat list of instructions, the same for all ranks of a
// pipeline stage. It is a pure function of shapes; no MPI, no tensors, no device here.
//
// Instructions work on seven kinds of objects:
//   activation(chunk, l, m)  input of layer l of the chunk for micro-batch m; with l the number of
//                            layers, the chunk's output. StageLayout::boundary() numbers them.
//   gradient(chunk, l, m)    gradient of the loss by that activation, numbered alike
//   frame(chunk, l, m)       activations that the layer saves for its backward pass
//   operands(chunk, l, m)    what the layer's weight gradients are computed from, if its backward
//                            pass leaves them for later
//   part(chunk, l, m)        this tensor rank's share of activation l, kept instead of it
//   input(chunk, l, m)       activation l, or its part, in host memory
//   block b                  bucket of the stage's parameters, with gradient and optimizer state.
//                            Parts of the optimizer state, and this rank's parameter shard, may be
//                            in a store (a disk; beside a device, for parameters, host memory too),
//                            and are in memory for a while only.
// The model's first layer (the embedding) has no input activation, its last (the head with the
// loss) no output activation, and neither has the gradient that would belong to it.
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
  Backward,   // reads frame, activation l, gradient l + 1; acquires gradient l, if a layer before
              // needs it, and the operands, if WeightGradient follows; releases the read
  WeightGradient,  // releases the operands
  DropFrame,       // releases the frame after Forward, for Recompute or (without Backward) for good
  DropInput,       // releases activation l of a layer without Backward

  // Input of a recomputed layer, sharded over the tensor axis meanwhile, on (chunk, layer,
  // microbatch).
  PartitionInput,  // acquires the part, releases activation l, which Forward has read
  GatherInput,     // acquires activation l, releases the part

  // Input of a recomputed layer, or its part, in host memory meanwhile, on (chunk, layer,
  // microbatch).
  OffloadInputStart,  // acquires the input on the host, reads the activation or part, which may not
                      // be touched until
  OffloadInputWait,   // releases it
  ReloadInputStart,   // acquires the activation or part, which may be read after
  ReloadInputWait,    // releases the input on the host

  // Messages between pipeline neighbours, on (chunk, microbatch). Start posts the message, Wait
  // completes it. They match by (activation or gradient, global chunk, microbatch), in any order,
  // or, between two stages, by their order alone (MessageMatching).
  SendActivationStart,  // reads the chunk's output, which may not be touched until
  SendActivationWait,   // releases it
  RecvActivationStart,  // acquires the chunk's input, activation 0, which may be read after
  RecvActivationWait,
  SendGradientStart,  // reads gradient 0 of the chunk, which may not be touched until
  SendGradientWait,   // releases it
  RecvGradientStart,  // acquires the gradient of the chunk's output, which may be read after
  RecvGradientWait,

  // Exchange of messages that match by order: all Starts between Begin and End begin together at
  // the End, so that none blocks another. Only Starts stand there, and no Start stands elsewhere.
  ExchangeBegin,
  ExchangeEnd,

  // Gradients and parameters, on (block), if the shape asks for them. Up to ZeRO-1 a block sees
  // each once, in this order. From ZeRO-2 on its gradient is whole only from GradientOpen to
  // ReduceWait, once per micro-batch or more; TensorSum then follows the last ReduceWait, as
  // ReplicaSum always does.
  GradientOpen,  // ZeRO-2: acquires the whole gradient; `microbatch` is the first to write it
  ReplicaSum,    // hybrid sharding: sum the shard over the groups of ranks that hold it
  TensorSum,     // sum partial gradients over the tensor axis (norms under sequence parallelism)
  ReduceStart,   // over the data axis: all-reduce or (ZeRO-1) reduce-scatter
  ReduceWait,    // ZeRO-2: adds the result to this rank's shard and releases the whole gradient
  TiedSum,       // sum the reduced tied gradient (ZeRO-1: its shard) over first and last stage
  GradientNorm,  // on no block: global norm and clip factor, once, when all gradients are final
  // Directions of whole matrices (Muon), between the norm and the Steps of an orthogonal block; one
  // block at a time has the buffer of directions, until its last Step.
  Momentum,            // direction of this rank's shard, from its gradient and optimizer state
  DirectionGather,     // ZeRO-1: the whole block's direction over the data axis
  Orthogonalize,       // this rank's matrices, summed up from the tensor axis
  DirectionBroadcast,  // each matrix from the data rank that has orthogonalised it
  Step,                // optimizer on this rank's shard of the block
  // ZeRO-1: updated parameters over the data axis, after Step, in the block's pieces. ZeRO-3:
  // acquires the whole parameters, before each instruction that reads them.
  GatherStart,
  GatherWait,
  Release,  // ZeRO-3: releases the whole parameters, which are absent when they are stepped

  // Optimizer state in a store, on (block, part): each part once per step, its Step between; twice
  // in an orthogonal block, for its Momentum and its Step.
  FetchStart,  // acquires a buffer, which holds the part's state after
  FetchWait,
  StoreStart,  // the stepped state goes back to the store,
  StoreWait,   // which releases the buffer

  // ZeRO-3, parameters whose shard is in a store, on (block): the shard is in memory from
  // GatherStart to GatherWait, and for the block's Steps, unless they change the store itself.
  LoadStart,  // acquires a buffer, which holds the shard after
  LoadWait,
  Unload,     // releases the buffer of a shard that no Step changed
  SaveStart,  // the stepped shard goes back to the store,
  SaveWait    // which releases the buffer
};
inline constexpr int op_kind_count = static_cast<int>(OpKind::SaveWait) + 1;
/// Value of Op::layer for all layers of the chunk, of Op::part for all parts of the block.
inline constexpr int all = -1;
/// Value in PlanShape::operand_pool: the layer's Backward computes its weight gradients.
inline constexpr int no_operands = -1;

/// One instruction. Unused fields of its kind are 0. `layer` is `all` in the compute
/// instructions of a chunk-level plan, before expand_layers. `part` is `all` in Momentum and Step
/// of a block without parts, and in a gather of one piece.
struct Op {
  OpKind kind;
  int chunk = 0;  // model chunk of this stage
  int layer = 0;  // layer within the chunk
  int microbatch = 0;
  int block = 0;  // parameter block of this stage
  int part = 0;   // part of the block's optimizer state, or piece of its gathered parameters
  auto operator<=>(const Op&) const = default;
};

/// Fields that an instruction uses.
struct OpFields {
  bool chunk = false;
  bool layer = false;
  bool microbatch = false;
  bool block = false;
  bool part = false;
};

/// Subject of an instruction.
enum class OpGroup : std::uint8_t {
  compute,  // runs a layer, and reads its parameters
  buffer,   // drops, shards, gathers or moves saved activations and inputs
  message,  // between pipeline neighbours
  block,    // gradients and parameters, of one block or (the norm) of all
  store     // moves a block's state between store and memory
};

// `kind` must be one of OpKind's (else std::out_of_range).
OpFields fields_of(OpKind kind);
OpGroup group_of(OpKind kind);
/// Whether the instruction sends messages to other ranks, if its group has others. Receives are not
/// counted: each message counts at its sender.
bool sends(OpKind kind);

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

/// Location of a block's parameters between steps in ZeRO-3.
enum class Residence : std::uint8_t {
  whole,            // whole on every rank, as in ZeRO-2
  sharded,          // a shard in each rank's memory
  stored,           // a shard in a store, loaded for gathers and steps
  stepped_in_store  // a shard in a store, loaded for gathers
};

/// Parameters as one flat array: one gradient bucket, one collective, one optimizer shard.
struct BlockUse {
  std::vector<LayerUse> layers = {};  // each layer once, at least one
  bool trained = true;                // false: frozen, without gradient and optimizer state
  bool tensor_sum = false;            // some of its gradient is partial over the tensor axis
  bool tied = false;                  // its gradient is summed over first and last stage
  bool orthogonal = false;            // whole matrices give the direction of its Steps
  Residence parameters = Residence::sharded;
  std::int64_t elements = 1;
  int pool = 0;   // of its buffers for gradients, parameters and shards, from 0; one size per pool
  int parts = 0;  // parts it is stepped in; 0: stepped whole, optimizer state in memory
  int kept_parts = 0;  // first parts, whose optimizer state stays in memory
  /// Elements per piece in which updated parameters are gathered (ZeRO-1); 0: one piece.
  std::int64_t gather_piece = 0;
  int gathers() const {
    return gather_piece == 0 ? 1 : static_cast<int>((elements + gather_piece - 1) / gather_piece);
  }
  bool stored() const { return parameters >= Residence::stored; }
  auto operator<=>(const BlockUse&) const = default;
};

/// A layer of the model by its global chunk.
struct ModelLayer {
  int chunk = 0, layer = 0;
  auto operator<=>(const ModelLayer&) const = default;
};

/// State that is sharded over the data axis (Rajbhandari et al. 2020).
enum class ZeroStage : std::uint8_t { none, optimizer, gradients, parameters };

/// Rule by which a message finds its other end; it decides where messages may stand in a plan.
enum class MessageMatching : std::uint8_t {
  by_tag,   // any order: a waiting message blocks nothing (MPI)
  by_order  // program order: a waiting message may block everything after it (NCCL)
};

/// Shape of model and grid, as far as a plan depends on it.
struct PlanShape {
  int stages = 1;
  int chunks = 1;  // model chunks per stage (interleaved schedules)
  int microbatches = 1;
  MessageMatching matching = MessageMatching::by_tag;
  /// layers[stage][chunk]: layers of each chunk, at least 1. Global chunk g is chunk g / stages of
  /// stage g % stages.
  std::vector<std::vector<int>> layers = {};
  /// Chunk-level plans of a schedule by hand (compute_order.hpp); empty: a named schedule.
  Plans order = {};
  /// Parameter blocks of each stage; empty: none. With stages > 1 either no block is tied, or
  /// exactly one on the first and one on the last stage. On one stage a tied tensor is one block
  /// that two layers write.
  std::vector<std::vector<BlockUse>> blocks = {};
  /// First layer with a trained parameter. Layers before it have no Backward, and no gradient goes
  /// to them.
  ModelLayer first_trained = {};
  /// recompute[stage][chunk][layer]: whether the layer's frame is recomputed; empty: none.
  std::vector<std::vector<std::vector<bool>>> recompute = {};
  /// Recomputed layers keep only a part of their input between Forward and Recompute.
  bool partition_inputs = false;
  /// Recomputed layers keep that input, or its part, in host memory.
  bool offload_inputs = false;
  /// frame_pool[stage][chunk][layer]: memory pool of the layer's frame, from 0; layers with frames
  /// of equal size share one. Empty: one pool for all.
  std::vector<std::vector<std::vector<int>>> frame_pool = {};
  /// operand_pool[stage][chunk][layer]: pool of the operands of a layer whose weight gradients are
  /// computed apart from its Backward (WeightGradient), counted on from the frames' pools, or
  /// no_operands. Empty: no layer has any.
  std::vector<std::vector<std::vector<int>>> operand_pool = {};
  bool data_parallel = false;  // state is sharded and gradients are reduced over data ranks
  ZeroStage zero = ZeroStage::none;
  bool replicas = false;  // hybrid sharding: other groups of data ranks hold the same shards
  /// Most elements being reduced during compute (one block always may be), which bounds MPI's own
  /// memory for it. 0: none.
  std::int64_t reduce_ahead = std::numeric_limits<std::int64_t>::max();
  /// ZeRO-3: most elements gathered ahead of their use (one block always may be; 0: none), and most
  /// gathered at once, above which nothing is gathered ahead.
  std::int64_t gather_ahead = 0;
  std::int64_t gathered_limit = std::numeric_limits<std::int64_t>::max();
  /// ZeRO-1: most elements of updated parameters being gathered (one piece always may be).
  std::int64_t update_ahead = std::numeric_limits<std::int64_t>::max();

  /// Optimizer state in a store: most parts in memory at once (at least 1), whether the next part
  /// is fetched and the last one stored while one is stepped.
  int state_buffers = 1;
  bool fetch_ahead = false;
  bool store_behind = false;
  /// Shards in a store: most in memory at once, above which none is loaded ahead (0: never), and
  /// most elements of them (one shard always may be).
  int shard_buffers = 0;
  std::int64_t shard_limit = std::numeric_limits<std::int64_t>::max();
  bool save_behind = true;  // save a stepped shard during the next steps

  bool shards_optimizer() const { return data_parallel && zero >= ZeroStage::optimizer; }
  bool shards_gradients() const { return data_parallel && zero >= ZeroStage::gradients; }
  /// Whether the block's parameters are whole only between GatherWait and Release. True on one data
  /// rank too, if they are gathered from a store.
  bool shards_parameters(const BlockUse& block) const {
    return zero == ZeroStage::parameters && block.parameters != Residence::whole;
  }

  /// Whether the layer has a Backward: it, or a layer before it, has trained parameters.
  bool runs_backward(int stage, int chunk, int layer) const {
    return ModelLayer{chunk * stages + stage, layer} >= first_trained;
  }
  bool recomputes(int stage, int chunk, int layer) const;
  /// Whether the layer's input is kept for its recomputation. False for the model's first layer,
  /// which reads tokens.
  bool keeps_input(int stage, int chunk, int layer) const;
  bool partitions(int stage, int chunk, int layer) const;
  bool offloads(int stage, int chunk, int layer) const;
  int pool(int stage, int chunk, int layer) const;
  /// Whether the layer has a WeightGradient.
  bool defers_weights(int stage, int chunk, int layer) const;
  /// The instruction after which the layer's gradients are complete for a micro-batch.
  OpKind last_write(int stage, int chunk, int layer) const {
    return defers_weights(stage, chunk, layer) ? OpKind::WeightGradient : OpKind::Backward;
  }
};

/// Throws std::invalid_argument if the fields of the shape contradict each other.
void check_shape(const PlanShape& shape);

/// Most objects in use at once on a stage.
struct Peaks {
  int boundaries = 0;          // activations plus gradients
  std::vector<int> frames;     // by pool; operands too
  std::vector<int> gradients;  // whole gradients of blocks (ZeRO-2), by pool
  std::vector<int> gathered;   // whole parameters of blocks (ZeRO-3), by pool
  int states = 0;              // parts of optimizer state loaded from a store
  std::vector<int> shards;     // parameter shards loaded from a store, by pool of their blocks
  int parts = 0;               // parts of partitioned inputs
  int inputs = 0;              // inputs in host memory
};

/// One instruction: "F c0 l3 m2", "send act c0 m1 start", "reduce b4 wait", "step b3 p1".
std::string text_of(const Op& op);
/// A plan as text, one line per instruction with its position, from 0.
std::string text_of(const Plan& plan);

}  // namespace triax
