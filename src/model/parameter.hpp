#pragma once
// How a parameter tensor in a rank's memory maps to the named global tensors of a checkpoint.
// Everything that must not depend on the process grid (initial weights, loading, saving, the
// gradient norm) follows from this.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

struct ElementNumbers;

/// A box of a global tensor, and where it lies in the local one. Rank 1 or 2.
struct Piece {
  std::string name;      // Hugging Face's name of the global tensor
  Shape global;          // its whole shape, unpadded
  Shape begin, extent;   // the box of the global tensor that is here
  Shape at;              // where the box begins in the local tensor
  int copies = 1;        // tensor ranks that hold this same box
  bool owner = true;     // this rank saves it and counts it in the gradient norm
  bool partial = false;  // its gradient must be summed over the ranks that hold a copy
};

enum class Initial : std::uint8_t { zero, one, normal };

/// One parameter as a layer sees it: a dense local tensor made of pieces. Elements outside the
/// pieces (a padded vocabulary) are zero, take no gradient and are never saved.
struct ParameterSpec {
  std::string label;  // "attention.qkv.weight"
  Shape shape;        // local
  std::vector<Piece> pieces;
  Initial initial = Initial::zero;
  float deviation = 0.0F;           // of normal initial values
  bool tied = false;                // the token embedding where the output projection uses it too
  bool read_in_backward = true;     // the layer's backward pass reads it
  bool written_in_forward = false;  // the forward pass writes its gradient already
  std::int64_t most = 0;            // elements on the tensor rank with the most; 0: all as many
  bool decays() const { return shape.rank() >= 2; }
  /// Elements that a block leaves for it: the same on all tensor ranks, as their plan is one.
  std::int64_t room() const { return most > 0 ? most : shape.elements(); }
};

/// Where a layer leaves the gradient of a parameter.
struct Gradient {
  Tensor data;
  bool accumulate = false;  // added to what earlier micro-batches left there; else it is replaced
};

/// The tensors of a layer, in the order of its params().
struct LayerParameters {
  std::vector<Tensor> weights;
  std::vector<Gradient> gradients;
};

/// A run of the elements of a piece, in the piece's own row-major order, and where they lie in
/// memory.
struct PieceRange {
  const Piece* piece;
  std::int64_t begin, end;
};

/// The elements of `piece` with local flat index in [begin, end) of a local tensor of shape
/// `local`: always one run of the piece's own row-major order (begin == end: none).
PieceRange intersect(const Piece& piece, const Shape& local, std::int64_t begin, std::int64_t end);

/// Calls visit(local flat index, global flat index, count) for each run of elements of `range` that
/// is contiguous in both the local tensor (of shape `local`) and the global one, in order.
void for_each_run(const PieceRange& range, const Shape& local,
                  const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit);

/// The numbers of the elements of `spec`, for a range from its first element on. Keys are of `seed`
/// and the names of its pieces.
ElementNumbers element_numbers(const ParameterSpec& spec, std::uint64_t seed);

/// Where this rank stands on the tensor axis; what layers need to cut their parameters.
struct TensorShard {
  int size = 1, rank = 0;
  bool sequence_parallel = false;
  /// Part `rank` of n in `size` parts whose sizes differ by at most one.
  std::int64_t begin(std::int64_t n) const { return n * rank / size; }
  std::int64_t count(std::int64_t n) const { return n * (rank + 1) / size - begin(n); }
  /// Of the rank that has the most.
  std::int64_t most(std::int64_t n) const { return (n + size - 1) / size; }
};

/// A parameter that every tensor rank holds whole. Its gradient is partial when `partial_gradient`
/// (each rank saw some of the rows only).
ParameterSpec replicated_parameter(const std::string& label, const std::string& name,
                                   const Shape& shape, const TensorShard& shard,
                                   bool partial_gradient, Initial initial, float deviation = 0.0F);

}  // namespace triax
