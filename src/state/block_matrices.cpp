// SPDX-License-Identifier: Apache-2.0
#include "src/state/block_matrices.hpp"

#include <algorithm>
#include <numeric>

namespace triax {
namespace {

double work_of(const PlacedParameter& param) {
  double work = 0.0;
  for (const BlockMatrix& matrix : matrices_of(param)) {
    const auto rows = static_cast<double>(matrix.global[0]);
    const auto columns = static_cast<double>(matrix.global[1]);
    work += rows * columns * std::min(rows, columns);
  }
  return work;
}

}  // namespace

std::vector<BlockMatrix> matrices_of(const PlacedParameter& param) {
  std::vector<BlockMatrix> matrices;
  for (const Piece& piece : param.spec.pieces) {
    const auto found = std::ranges::find_if(matrices, [&](const BlockMatrix& matrix) {
      return matrix.pieces.front()->name == piece.name;
    });
    if (found != matrices.end())
      found->pieces.push_back(&piece);
    else
      matrices.push_back({piece.global, {&piece}});
  }
  return matrices;
}

std::vector<int> matrix_owners(const ParameterBlock& block, int ranks) {
  std::vector<std::size_t> order(block.params.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<double> work;
  for (const PlacedParameter& param : block.params) work.push_back(work_of(param));
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return work[a] > work[b]; });
  std::vector<double> taken(static_cast<std::size_t>(ranks));
  std::vector<int> owners(order.size());
  for (const std::size_t p : order) {
    const auto least = std::ranges::min_element(taken);
    *least += work[p];
    owners[p] = static_cast<int>(least - taken.begin());
  }
  return owners;
}

}  // namespace triax
