// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layout of a stage's parameters in flat buckets (ParameterBlock): one bucket is one gradient
// reduction, one gather, one optimizer shard and one extent on disk.
#include <limits>
#include <string>
#include <vector>

#include "src/model/stage/stage.hpp"

namespace triax {

/// Range [begin, end) of a bucket's elements.
struct FlatRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
  bool operator==(const FlatRange&) const = default;
};

/// Intersection; empty (begin == end) if the ranges are disjoint.
FlatRange intersect(const FlatRange& a, const FlatRange& b);

/// The layer and the parameter of it that a placed parameter is.
struct ParameterUse {
  int chunk, layer;
  std::size_t index;  // in Layer::params()
  // Copied from the layer's own ParameterSpec.
  bool read_in_backward = true;
  bool written_in_forward = false;
};

/// A parameter at its offset in a bucket.
struct PlacedParameter {
  ParameterSpec spec;
  std::int64_t offset = 0;         // first element in the bucket
  std::vector<ParameterUse> uses;  // one entry; two if embedding and head share the matrix
  FlatRange range() const { return {offset, offset + spec.shape.elements()}; }
};

/// Elements whose gradient is a partial sum over each of `parts` equal ranges of the tensor axis.
struct PartialRange {
  FlatRange range;
  int parts = 1;
};

enum class BlockContent : std::uint8_t {
  layer,
  tied_embedding,   // the token embedding, if the head uses it too
  small_parameters  // kept whole under ZeRO-3
};

/// Location of a bucket's parameters between steps.
enum class ParameterHome : std::uint8_t {
  whole,    // all elements, in compute memory
  sharded,  // ZeRO-3: this rank's shard in compute memory; whole only between gather and release
  host,     // device runs: this rank's shard in host memory
  disk      // this rank's shard on a disk
};

/// A bucket: the parameters of one layer, a token embedding tied to the head, or (ZeRO-3) the small
/// parameters of a stage; of these, the trained or the frozen ones; of the trained ones, the
/// matrices or the others where DataShard::matrices_apart. Parameters start at multiples of
/// DataShard::alignment elements. Padding between and after them is never read; it is zero in the
/// weights and arbitrary in the gradients.
struct ParameterBlock {
  std::string name;
  std::vector<PlacedParameter> params;
  std::vector<PartialRange>
      partial;                // few, merged; summed over the tensor axis before the data axis
  std::int64_t elements = 0;  // a multiple of the data-parallel size
  FlatRange own;  // this data rank's equal shard: it counts this in the norm and saves it, with any
                  // ZeRO level
  // Elements this rank keeps between steps: `own`, or all.
  FlatRange parameters;  // own if sharded()
  FlatRange gradients;   // own from ZeRO-2 on; none if frozen
  FlatRange stepped;     // elements with optimizer state; own from ZeRO-1 on; none if frozen
  // Sub-groups of `stepped`, stepped one at a time, if optimizer state is in a store. State of the
  // first kept_parts stays in memory. Empty: all state stays in memory.
  std::vector<FlatRange> parts;
  int kept_parts = 0;
  // Elements per piece of the gather of updated parameters, over all ranks (equal shares of each
  // rank's shard); 0: one gather.
  std::int64_t gather_piece = 0;
  BlockContent content = BlockContent::layer;
  bool trained = true;    // false: frozen; no gradient, no optimizer state
  bool matrices = false;  // trained matrices of blocks alone (DataShard::matrices_apart)
  ParameterHome home = ParameterHome::whole;  // location of `parameters`
  bool saved = true;        // checkpoints hold some of it; false: part of the adapters' base
  bool host_state = false;  // device runs: all optimizer state is on the host or a disk
  bool duplicate = false;  // another rank counts and saves it: the first stage (tied embedding), or
                           // the first shard group
  bool sharded() const { return home != ParameterHome::whole; }
  /// True if `parameters` are in compute memory only between load and unload.
  bool stored() const { return home == ParameterHome::host || home == ParameterHome::disk; }
};

/// Share of a rank's state kept in a store (a disk) instead of memory, or on the host instead of a
/// device.
struct StateOffload {
  double optimizer_share = 0.0;  // share of each bucket's optimizer state in the store
  bool of_device = false;        // computing on a device; host_share applies
  double host_share = 0.0;       // share of the remaining state kept on the host
  std::int64_t part_elements = std::int64_t{1} << 22;  // largest sub-group stepped at once
  bool parameters = false;                             // ZeRO-3 shards are in a store
  std::int64_t kept_parameters = 0;  // elements of the first shards that stay in compute memory,
  double parameter_share = 1.0;      // or all but this share of them, if that keeps more
  std::int64_t host_parameters = 0;  // device runs: elements of the next shards that the host keeps
};

/// Sharding over the data axis: over groups of `size` consecutive data ranks, either all data ranks
/// or (hybrid sharding, MiCS of Zhang et al. 2022) some.
struct DataShard {
  int size = 1, rank = 0;  // size of the group, and this rank in it
  int group = 0;           // index among `groups`, each of which holds all parameters
  int groups = 1;
  int zero_stage = 0;
  std::int64_t persistence_threshold = 0;  // parameters of at most this many elements (per tensor
                                           // rank) share one bucket, which ZeRO-3 keeps whole
  /// ZeRO-1 and ZeRO-2: most elements of updated parameters gathered at once.
  std::int64_t gather_limit = std::numeric_limits<std::int64_t>::max();
  StateOffload offload = {};
  // Parameters, shards and sub-groups begin at multiples of this many elements: 64 bytes of
  // float32, or the cells of packed states, which a rank must have whole.
  std::int64_t alignment = 16;
  bool matrices_apart = false;  // trained matrices of blocks have buckets of their own (Muon)
  /// True if whole gradients exist only for a while. A single rank keeps them whole all the time.
  bool cuts_gradients() const { return zero_stage >= 2 && size > 1; }
};

/// Elements per copy through a buffer between state and a file that has another type or order.
constexpr std::int64_t staged_elements = 1 << 20;

/// Equal shard of data rank `rank` in a bucket of `elements` elements.
inline FlatRange part_of_rank(std::int64_t elements, int data_size, int rank) {
  const std::int64_t part = elements / data_size;
  return {part * rank, part * (rank + 1)};
}

/// Elements whose optimizer state stays in memory.
FlatRange kept_state_range(const ParameterBlock& block);

/// Number of pieces a bucket is gathered in.
int gathers_of(const ParameterBlock& block);
/// Range that piece `piece` gathers of each rank's shard, relative to the shard's start.
FlatRange gathered_run(const ParameterBlock& block, int piece);

/// Buckets of a stage: one per layer with parameters (two if only some of them are trained), and
/// one of a tied embedding. Embedding and head of a single stage share that one; on first and last
/// stage it has the same layout, so that shards match.
std::vector<ParameterBlock> lay_out_blocks(const Stage& stage, const DataShard& shard);

}  // namespace triax
