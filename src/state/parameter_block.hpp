#pragma once
// How a stage's parameters are laid out in flat blocks: one block is one gradient bucket, one
// collective, one optimizer shard, one block on disk.
#include <limits>
#include <string>
#include <vector>

#include "src/model/stage.hpp"

namespace triax {

/// A run [begin, end) of a block's elements.
struct FlatRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
  bool operator==(const FlatRange&) const = default;
};

/// What two ranges share; empty (begin == end) where nothing.
FlatRange intersect(const FlatRange& a, const FlatRange& b);

/// Which parameter of which layer a placed parameter is.
struct ParameterUse {
  int chunk, layer;
  std::size_t index;  // in Layer::params()
  // As the layer's own ParameterSpec has it.
  bool read_in_backward = true;
  bool written_in_forward = false;
};

/// A parameter in its block.
struct PlacedParameter {
  ParameterSpec spec;
  std::int64_t offset = 0;         // first element in the block
  std::vector<ParameterUse> uses;  // one; two where embedding and head share the matrix
  FlatRange range() const { return {offset, offset + spec.shape.elements()}; }
};

/// Elements of a block whose gradient is a partial sum over `parts` equal runs of the tensor axis.
struct PartialRange {
  FlatRange range;
  int parts = 1;
};

enum class BlockContent : std::uint8_t {
  layer,
  tied_embedding,   // the token embedding where the head uses it too
  small_parameters  // which ZeRO-3 keeps whole
};

/// Where a block's parameters are from step to step.
enum class ParameterHome : std::uint8_t {
  whole,    // beside the compute, all of them
  sharded,  // ZeRO-3: beside the compute, this rank's; whole between gather and release only
  host,     // of a device's run: this rank's in the host's memory
  disk      // this rank's on a disk
};

/// The parameters of one layer, the token embedding that a tied head uses too, or (ZeRO-3) the
/// small parameters of a stage. Parameters are 64-byte aligned in float32; the padding between and
/// behind them is never read: zero in the weights, anything in the gradients.
struct ParameterBlock {
  std::string name;
  std::vector<PlacedParameter> params;
  std::vector<PartialRange>
      partial;                // few and merged: summed over the tensor axis before the data axis
  std::int64_t elements = 0;  // a multiple of the data-parallel size
  FlatRange
      own;  // this data rank's equal part: what it counts in the norm and saves, in any ZeRO stage
  // What this rank keeps from step to step: `own`, or all.
  FlatRange parameters;  // own where sharded()
  FlatRange gradients;   // own from ZeRO-2 on
  FlatRange stepped;     // with optimizer state: own from ZeRO-1 on
  // `stepped` in the parts that it is stepped in, where optimizer state is in a store; that of the
  // first kept_parts is in memory all the time. Empty: all of it is.
  std::vector<FlatRange> parts;
  int kept_parts = 0;
  // Elements, of all ranks together, of each piece that updated parameters are gathered in, as many
  // of each rank's part; 0: they are gathered at once.
  std::int64_t gather_piece = 0;
  BlockContent content = BlockContent::layer;
  ParameterHome home = ParameterHome::whole;  // of `parameters`
  bool host_state = false;  // of a device's run: all optimizer state is on the host or a disk
  bool duplicate = false;   // another rank counts and saves it: the first stage, where it is the
                            // last stage's copy of a tied embedding; the first shard group
  bool sharded() const { return home != ParameterHome::whole; }
  /// `parameters` are beside the compute for a while only.
  bool stored() const { return home == ParameterHome::host || home == ParameterHome::disk; }
};

/// What of a rank's state is in a store (a disk) instead of memory, or on the host instead of a
/// device.
struct StateOffload {
  double optimizer_share = 0.0;                        // of each block's optimizer state; 0: none
  bool of_device = false;                              // the compute is a device's: if so,
  double host_share = 0.0;                             // of the other state, what the host has
  std::int64_t part_elements = std::int64_t{1} << 22;  // most of a part that is stepped at once
  bool parameters = false;                             // the shards of ZeRO-3
  std::int64_t kept_parameters = 0;  // elements of the first shards, which stay in memory,
  double parameter_share = 1.0;      // or, where that keeps more, all but this share of them
  std::int64_t host_parameters = 0;  // elements of the first of the others, which a device's run
                                     // has in the host's memory
};

/// Where blocks are cut over the data axis, and what is cut: over groups of `size` neighbouring
/// data ranks, all of them or (hybrid sharding, MiCS of Zhang et al. 2022) some.
struct DataShard {
  int size = 1, rank = 0;  // of the group
  int group = 0;           // whose like `groups` have
  int groups = 1;
  int zero_stage = 0;
  std::int64_t persistence_threshold = 0;  // parameters of at most so many elements (a tensor
                                           // rank's) have a block of their own, which ZeRO-3
                                           // keeps whole
  /// ZeRO-1: most elements of updated parameters that are gathered at once.
  std::int64_t gather_limit = std::numeric_limits<std::int64_t>::max();
  StateOffload offload = {};
  /// Gradients are whole for a while only. One rank has all of them all the time.
  bool cuts_gradients() const { return zero_stage >= 2 && size > 1; }
};

/// Elements that go at once through a buffer between state and a file, where the file has them in
/// another type or order.
constexpr std::int64_t staged_elements = 1 << 20;

/// Data rank `rank`'s equal part of a block of so many elements.
inline FlatRange part_of_rank(std::int64_t elements, int data_size, int rank) {
  const std::int64_t part = elements / data_size;
  return {part * rank, part * (rank + 1)};
}

/// Elements whose optimizer state is in memory all the time.
FlatRange kept_state_range(const ParameterBlock& block);

/// Pieces that a block is gathered in.
int gathers_of(const ParameterBlock& block);
/// Elements of each rank's part, from the part's first, that piece `piece` of a block gathers.
FlatRange gathered_run(const ParameterBlock& block, int piece);

/// A block for each layer with parameters. A tied embedding has one of its own, shared by embedding
/// and head of a single stage, with the same layout on first and last stage, so that shards match.
std::vector<ParameterBlock> lay_out_blocks(const Stage& stage, const DataShard& shard);

}  // namespace triax
