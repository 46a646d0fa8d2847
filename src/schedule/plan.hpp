#pragma once
// A Plan is what a rank does in one training step: a flat list of instructions, the same for all
// ranks of a pipeline stage. It is a pure function of shapes; no MPI, no tensors, no device here.
//
// Instructions work on six kinds of things:
//   activation(chunk, l, m)  input of layer l of the chunk for micro-batch m; with l the number of
//                            layers, the chunk's output. StageLayout::boundary() numbers them.
//   gradient(chunk, l, m)    gradient of the loss by that activation, numbered alike
//   frame(chunk, l, m)       what the layer keeps from its forward for its backward pass
//   part(chunk, l, m)        this tensor rank's share of activation l, kept in place of it
//   input(chunk, l, m)       activation l, or the part of it, on the host
//   block b                  part of the stage's parameters, with gradient and optimizer state;
//                            of what is in a store (a disk; for parameters of a device's run, the
//                            host's memory too) parts of the optimizer state, and this rank's
//                            shard of the parameters, are in memory for a while
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

  // What a recomputed layer reads, cut over the tensor axis meanwhile, on (chunk, layer,
  // microbatch)
  PartitionInput,  // acquires the part, releases activation l, which Forward has read
  GatherInput,     // acquires activation l, releases the part

  // What a recomputed layer reads, or the part of it, on the host meanwhile, on (chunk, layer,
  // microbatch)
  OffloadInputStart,  // acquires the input on the host, reads the activation or part, which may not
                      // be touched until
  OffloadInputWait,   // releases it
  ReloadInputStart,   // acquires the activation or part, which may be read after
  ReloadInputWait,    // releases the input on the host

  // Messages between pipeline neighbours, on (chunk, microbatch). Start posts the message, Wait
  // completes it. They match by (activation or gradient, global chunk, microbatch), in any order,
  // or between two stages by their order alone (MessageMatching).
  SendActivationStart,  // reads the chunk's output, which may not be touched until
  SendActivationWait,   // releases it
  RecvActivationStart,  // acquires the chunk's input, activation 0, which may be read after
  RecvActivationWait,
  SendGradientStart,  // reads gradient 0 of the chunk, which may not be touched until
  SendGradientWait,   // releases it
  RecvGradientStart,  // acquires the gradient of the chunk's output, which may be read after
  RecvGradientWait,

  // Where they match by their order: all that start between the two begin together at the End, so
  // that none holds up another. Nothing but Starts stands there, and no Start elsewhere.
  ExchangeBegin,
  ExchangeEnd,

  // Gradients and parameters, on (block), where the shape asks for it. Up to ZeRO 1 a block sees
  // each once, in this order. From ZeRO 2 on its gradient is whole only for a while, once a
  // micro-batch or more: GradientOpen to ReduceWait; TensorSum then follows the last ReduceWait, as
  // ReplicaSum does always.
  GradientOpen,  // ZeRO 2: acquires the whole gradient; `microbatch` is the first to write it
  ReplicaSum,    // hybrid sharding: sum the shard over the groups of ranks that have the same
  TensorSum,     // sum what is partial over the tensor axis (norms under sequence parallelism)
  ReduceStart,   // over the data axis: all-reduce or (ZeRO 1) reduce-scatter
  ReduceWait,    // ZeRO 2: adds the result to this rank's shard and releases the whole gradient
  TiedSum,       // sum the tied gradient, reduced (ZeRO 1: the shard), over first and last stage
  GradientNorm,  // on no block: global norm and clip factor, once, when all gradients are final
  Step,          // optimizer on this rank's shard of the block
  // ZeRO 1: updated parameters over the data axis, after Step, in the block's pieces. ZeRO 3:
  // acquires the whole parameters, before each instruction that reads them
  GatherStart,
  GatherWait,
  Release,  // ZeRO 3: releases the whole parameters, which may not be there when they are stepped

  // Optimizer state that is in a store, on (block, part): each part once a step, its Step between.
  FetchStart,  // acquires a buffer, which has the part's state after
  FetchWait,
  StoreStart,  // the stepped state goes back to the store,
  StoreWait,   // which releases the buffer

  // ZeRO 3, parameters whose shard is in a store, on (block): it is in memory for GatherStart to
  // GatherWait, and for the block's Steps, unless they change the store itself.
  LoadStart,  // acquires a buffer, which has the shard after
  LoadWait,
  Unload,     // releases the buffer of a shard that no Step changed
  SaveStart,  // the stepped shard goes back to the store,
  SaveWait    // which releases the buffer
};
inline constexpr int op_kind_count = static_cast<int>(OpKind::SaveWait) + 1;
/// The layer of an Op on all layers of its chunk, the part of an Op on all parts of its block.
inline constexpr int all = -1;

/// One instruction. Fields that its kind does not use are 0; layer is `all` in the Forward and
/// Backward of a chunk-level plan, before expand_layers; part is `all` in the Step of a block
/// that is not cut into parts, and where parameters are gathered in one piece.
struct Op {
  OpKind kind;
  int chunk = 0;  // model chunk of this stage
  int layer = 0;  // layer within the chunk
  int microbatch = 0;
  int block = 0;  // parameter block of this stage
  int part = 0;   // of the block's optimizer state; piece of what is gathered
  auto operator<=>(const Op&) const = default;
};

/// Which fields an instruction uses.
struct OpFields {
  bool chunk = false;
  bool layer = false;
  bool microbatch = false;
  bool block = false;
  bool part = false;
};

/// What an instruction is about.
enum class OpGroup : std::uint8_t {
  compute,  // runs a layer, and reads its parameters
  buffer,   // what a layer keeps or has read is dropped, cut or made whole, or moved
  message,  // between pipeline neighbours
  block,    // gradients and parameters, of one block or (the norm) of all
  store     // what of a block is in a store comes or goes
};

// kind must be one of OpKind's (std::out_of_range otherwise).
OpFields fields_of(OpKind kind);
OpGroup group_of(OpKind kind);
/// It sends messages to other ranks, where the grid has others for them. Receives are not counted:
/// who sends counts.
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

/// Where a block's parameters are from step to step in ZeRO 3.
enum class Residence : std::uint8_t {
  whole,            // on every rank, as in ZeRO 2
  sharded,          // a shard in each rank's memory
  stored,           // a shard in a store, loaded to be gathered and to be stepped
  stepped_in_store  // a shard in a store, loaded to be gathered
};

/// A flat block of parameters: one gradient bucket, one collective, one optimizer shard.
struct BlockUse {
  std::vector<LayerUse> layers = {};  // each layer once, at least one
  bool tensor_sum = false;            // parts of its gradient are partial over the tensor axis
  bool tied = false;                  // its gradient is summed over first and last stage
  Residence parameters = Residence::sharded;
  std::int64_t elements = 1;
  int pool = 0;   // of the buffers for gradients, parameters and shards, from 0 (one size a pool)
  int parts = 0;  // that it is stepped in; 0: as a whole, with its optimizer state in memory
  int kept_parts = 0;  // the first parts, whose optimizer state is in memory all the time
  /// Elements of each piece that updated parameters are gathered in (ZeRO 1); 0: they are in one.
  std::int64_t gather_piece = 0;
  int gathers() const {
    return gather_piece == 0 ? 1 : static_cast<int>((elements + gather_piece - 1) / gather_piece);
  }
  bool stored() const { return parameters >= Residence::stored; }
  auto operator<=>(const BlockUse&) const = default;
};

/// What of a block's state is cut over the data axis (Rajbhandari et al. 2020).
enum class ZeroStage : std::uint8_t { none, optimizer, gradients, parameters };

/// How messages between stages find their other end, which decides where they may stand.
enum class MessageMatching : std::uint8_t {
  by_tag,   // in any order: one that waits for its other end holds up nothing (MPI)
  by_order  // of the program: one that waits may hold up all that comes behind it (NCCL)
};

/// What a schedule needs to know of the model and the grid.
struct PlanShape {
  int stages = 1;
  int chunks = 1;  // model chunks a stage (interleaved schedules)
  int microbatches = 1;
  MessageMatching matching = MessageMatching::by_tag;
  /// Layers of each chunk, at least 1: layers[stage][chunk]. Global chunk g lives on stage g %
  /// stages as chunk g / stages.
  std::vector<std::vector<int>> layers = {};
  /// Parameter blocks of each stage; empty: none. With stages > 1 either no block is tied, or
  /// exactly one on the first and one on the last stage; on one stage a tied tensor is one block
  /// that two layers write.
  std::vector<std::vector<BlockUse>> blocks = {};
  /// Layers whose frame is recomputed: recompute[stage][chunk][layer]; empty: none.
  std::vector<std::vector<std::vector<bool>>> recompute = {};
  /// Between their Forward and their Recompute, recomputed layers keep a part of their input.
  bool partition_inputs = false;
  /// And keep it, or the part, on the host.
  bool offload_inputs = false;
  /// Memory pool that each layer's frame comes from (layers with frames of equal size share one):
  /// frame_pool[stage][chunk][layer], counted from 0; empty: one pool for all.
  std::vector<std::vector<std::vector<int>>> frame_pool = {};
  bool data_parallel = false;  // state is cut, and gradients are reduced, over data ranks
  ZeroStage zero = ZeroStage::none;
  bool replicas = false;  // the shards of one group of data ranks are held by others too
  /// Elements whose reduction may be under way while compute goes on (one block is allowed always):
  /// what bounds MPI's own memory for it. 0: none.
  std::int64_t reduce_ahead = std::numeric_limits<std::int64_t>::max();
  /// ZeRO 3: elements gathered ahead of their use (one block is allowed always); 0: none. And the
  /// most that is gathered at once, which stops the gathering ahead.
  std::int64_t gather_ahead = 0;
  std::int64_t gathered_limit = std::numeric_limits<std::int64_t>::max();
  /// ZeRO 1: elements of updated parameters whose gathering may be under way (one piece may
  /// always).
  std::int64_t update_ahead = std::numeric_limits<std::int64_t>::max();

  /// Optimizer state in a store: parts in memory at once, at least 1; fetching the next while one
  /// is stepped; storing the last meanwhile.
  int state_buffers = 1;
  bool fetch_ahead = false;
  bool store_behind = false;
  /// Shards in a store: those in memory at once, which stops the loading ahead; 0: none is loaded
  /// ahead. And their elements (one is allowed always).
  int shard_buffers = 0;
  std::int64_t shard_limit = std::numeric_limits<std::int64_t>::max();
  bool save_behind = true;  // saving a stepped shard meanwhile

  bool shards_optimizer() const { return data_parallel && zero >= ZeroStage::optimizer; }
  bool shards_gradients() const { return data_parallel && zero >= ZeroStage::gradients; }
  /// The block's parameters are whole only between GatherWait and Release: on one data rank too,
  /// where they are gathered from a store.
  bool shards_parameters(const BlockUse& block) const {
    return zero == ZeroStage::parameters && block.parameters != Residence::whole;
  }

  bool recomputes(int stage, int chunk, int layer) const;
  /// Its input is kept for its recomputation: not that of the model's first layer, which reads
  /// tokens.
  bool keeps_input(int stage, int chunk, int layer) const;
  bool partitions(int stage, int chunk, int layer) const;
  bool offloads(int stage, int chunk, int layer) const;
  int pool(int stage, int chunk, int layer) const;
};

/// std::invalid_argument where the parts of the shape do not fit each other.
void check_shape(const PlanShape& shape);

/// The most that is in use at once on a stage.
struct Peaks {
  int boundaries = 0;          // activations and gradients together
  std::vector<int> frames;     // by pool
  std::vector<int> gradients;  // whole gradients of blocks (ZeRO 2), by pool
  std::vector<int> gathered;   // whole parameters of blocks (ZeRO 3), by pool
  int states = 0;              // parts of optimizer state that came from a store
  std::vector<int> shards;     // of parameters, that came from a store, by pool of their blocks
  int parts = 0;               // of partitioned inputs
  int inputs = 0;              // on the host
};

/// One instruction: "F c0 l3 m2", "send act c0 m1 start", "reduce b4 wait", "step b3 p1".
std::string text_of(const Op& op);
/// A plan as text, one line an instruction with its position, counted from 0.
std::string text_of(const Plan& plan);

}  // namespace triax
