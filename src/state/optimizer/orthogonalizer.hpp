// SPDX-License-Identifier: Apache-2.0
#pragma once
// Directions of matrices that are made orthogonal whole (Muon), on shards of the data axis and
// pieces of the tensor axis. Bucket by bucket: the directions of all data ranks are gathered, each
// data rank takes some of the parameters (matrix_owners), its tensor ranks sum up whole matrices
// and orthogonalise them, and keep their pieces, which go to the other data ranks. So the result
// does not depend on the grid, but for rounding.
#include "src/state/block_matrices.hpp"
#include "src/state/optimizer/rules/rules.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

class Orthogonalizer {
 public:
  /// `config` and `store` outlive it. Takes bytes_of() in region "orthogonalization".
  Orthogonalizer(ParameterStore& store, const OptimizerConfig& config, const MatrixRule& rule);
  /// Bytes for the largest of these buckets and matrices; 0: no bucket of matrices.
  static std::int64_t bytes_of(const std::vector<ParameterBlock>& blocks);
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.bytes()); }

  /// Directions of a range of the bucket in work: (range.count()) float32.
  Tensor direction(const FlatRange& range) const {
    return directions_.slice(0, range.begin, range.count());
  }
  // In this order; a rank begins with the direction of its `stepped` range.
  /// Directions of all data ranks. Collective over the shard group.
  void gather(const Stream& stream, int block);
  /// Orthogonalises the matrices this data rank takes. Collective over the tensor axis.
  void orthogonalize(const Stream& stream, int block);
  /// Directions that the others have orthogonalised. Collective over the shard group.
  void broadcast(const Stream& stream, int block);

 private:
  void orthogonalize(const Stream& stream, const PlacedParameter& param, const BlockMatrix& matrix);
  const ParameterBlock& block(int index) const {
    return store_.blocks()[static_cast<std::size_t>(index)];
  }

  ParameterStore& store_;
  const OptimizerConfig& config_;
  const MatrixRule& rule_;
  Memory memory_;
  Tensor directions_;  // (elements of the largest bucket) float32
  Tensor whole_;       // (elements of the largest matrix) float32
  Arena scratch_;
};

}  // namespace triax
