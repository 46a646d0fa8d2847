// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrices of a bucket that are orthogonalised whole (Muon): which tensors a parameter holds, and
// which data rank takes it.
#include <string>
#include <vector>

#include "src/state/parameter_block.hpp"

namespace triax {

/// A tensor of a checkpoint in a parameter of a bucket: queries, keys and values of a layer are one
/// parameter and three tensors.
struct BlockMatrix {
  Shape global;                      // (A, B), Hugging Face's shape
  std::vector<const Piece*> pieces;  // on this tensor rank; those of one tensor
};

/// The tensors of a parameter, in the order of its pieces: the same on all tensor ranks.
std::vector<BlockMatrix> matrices_of(const PlacedParameter& param);

/// By parameter of a bucket of matrices: the rank, of `ranks`, that orthogonalises its tensors. The
/// work, A B min(A, B), is shared evenly, as far as whole parameters allow; it is the same on all
/// tensor ranks.
std::vector<int> matrix_owners(const ParameterBlock& block, int ranks);

/// Calls visit(A, B) for each tensor of each bucket of matrices.
template <class Visit>
void for_each_matrix(const std::vector<ParameterBlock>& blocks, Visit&& visit) {
  for (const ParameterBlock& block : blocks) {
    if (!block.matrices) continue;
    for (const PlacedParameter& param : block.params)
      for (const BlockMatrix& matrix : matrices_of(param))
        visit(matrix.global[0], matrix.global[1]);
  }
}

}  // namespace triax
