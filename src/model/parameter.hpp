// SPDX-License-Identifier: Apache-2.0
#pragma once
// Map from a parameter tensor in a rank's memory to the named global tensors of a checkpoint.
// Everything that must not depend on the process grid (initial weights, loading, saving, the
// gradient norm) is derived from it.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

struct ElementNumbers;
struct ModelConfig;
struct PackedWeight;
struct Trainability;

/// A box of a global tensor and its offset in the local one. One or two dimensions.
struct Piece {
  std::string name;      // Hugging Face's name of the global tensor
  Shape global;          // shape of the whole global tensor, unpadded
  Shape begin, extent;   // box of the global tensor on this rank
  Shape at;              // offset of the box in the local tensor
  int copies = 1;        // tensor ranks that hold this same box
  bool owner = true;     // this rank saves it and counts it in the gradient norm
  bool partial = false;  // its gradient must be summed over the ranks with a copy
};

enum class Initial : std::uint8_t {
  zero,
  one,
  normal,   // of ParameterSpec::deviation
  uniform,  // within plus and minus ParameterSpec::deviation
  row_norm  // L2 norms over the inputs of the map's weight in the model's files
};

/// One parameter as a layer sees it: a dense local tensor made of pieces. Elements outside the
/// pieces (a padded vocabulary) are zero, take no gradient and are never saved.
struct ParameterSpec {
  std::string label;  // "attention.qkv.weight"
  Shape shape;        // local
  std::vector<Piece> pieces;
  Initial initial = Initial::zero;
  float deviation = 0.0F;           // of random initial values
  bool tied = false;                // token embedding that the output projection uses too
  bool read_in_backward = true;     // the layer's backward pass reads it
  bool written_in_forward = false;  // the forward pass already writes its gradient
  std::int64_t most = 0;            // elements on the tensor rank with the most; 0: the same on all
  bool trained = true;              // false: frozen, without gradient and optimizer state
  bool adapter = false;             // files of adapters hold it
  bool of_base = true;              // files of the model without adapters hold it
  bool matrix = false;              // a linear map of a block: Muon orthogonalises its tensors
  /// Frozen weight in the bits of its files (quantized/packed_weight.hpp): then `shape` counts
  /// elements that hold its bytes, and pieces only name its tensors. Null: a plain tensor.
  std::shared_ptr<const PackedWeight> packed = {};
  bool decays() const { return shape.rank() >= 2; }
  /// Elements that a bucket reserves: the same on all tensor ranks, which share one plan.
  std::int64_t room() const { return most > 0 ? most : shape.elements(); }
};

/// The key that a job sets, after its file and line: "job.json:12: freeze". One list is set.
std::string key_of(const Trainability& model);
/// Whether the tensor `name` is trained. A pattern is that of fnmatch: * (dots too), ? and [...].
/// It stands for the tensors whose name it matches, and for those of a module whose name it
/// matches.
bool is_trained(const Trainability& model, const std::string& name);
/// Whether `pattern` stands for the tensor `name`.
bool stands_for(const std::string& pattern, const std::string& name);
/// Sets ParameterSpec::trained, and ParameterSpec::adapter of modules that are trained whole beside
/// adapters. UsageError if tensors of one parameter are to be trained in part.
void mark_trained(std::vector<ParameterSpec>& params, const ModelConfig& model);

/// Destination of a parameter's gradient; empty: the parameter is frozen.
struct Gradient {
  Tensor data;
  bool accumulate = false;  // add to earlier micro-batches; else replace
};

/// The tensors of a layer, in the order of its params().
struct LayerParameters {
  std::vector<Tensor> weights;
  std::vector<Gradient> gradients;
};

/// Consecutive elements of a piece, in the piece's row-major order.
struct PieceRange {
  const Piece* piece;
  std::int64_t begin, end;
};

/// Elements of `piece` whose local flat index, in a tensor of shape `local`, lies in [begin, end).
/// They are always consecutive in the piece's row-major order (begin == end: none).
PieceRange intersect(const Piece& piece, const Shape& local, std::int64_t begin, std::int64_t end);

/// Calls visit(local flat index, global flat index, count), in order, for each range of elements
/// that is contiguous in both the local tensor (of shape `local`) and the global one.
void for_each_run(const PieceRange& range, const Shape& local,
                  const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit);

/// Global numbers of the elements of `spec`, from its first element. Keys depend on `seed` and the
/// names of the pieces.
ElementNumbers element_numbers(const ParameterSpec& spec, std::uint64_t seed);

/// Coordinate of this rank on the tensor axis, from which layers shard their parameters.
struct TensorShard {
  int size = 1, rank = 0;
  bool sequence_parallel = false;
  /// First of n elements on this rank. The `size` shards differ by at most one element.
  std::int64_t begin(std::int64_t n) const { return n * rank / size; }
  std::int64_t count(std::int64_t n) const { return n * (rank + 1) / size - begin(n); }
  /// Size of the largest shard.
  std::int64_t most(std::int64_t n) const { return (n + size - 1) / size; }
};

/// A parameter that every tensor rank holds whole. With `partial_gradient` its gradient must be
/// summed: each rank saw only some rows.
ParameterSpec replicated_parameter(const std::string& label, const std::string& name,
                                   const Shape& shape, const TensorShard& shard,
                                   bool partial_gradient, Initial initial, float deviation = 0.0F);

}  // namespace triax
