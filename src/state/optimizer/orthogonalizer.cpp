// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/orthogonalizer.hpp"

#include <algorithm>

#include "kernels/activation/elementwise.hpp"

namespace triax {
namespace {

// Sizes of the three parts of the memory: elements of directions and of a whole matrix, bytes of
// the iteration.
struct Sizes {
  explicit Sizes(const std::vector<ParameterBlock>& blocks) {
    for (const ParameterBlock& block : blocks)
      if (block.matrices) directions = std::max(directions, block.elements);
    for_each_matrix(blocks, [&](std::int64_t rows, std::int64_t columns) {
      matrix = std::max(matrix, rows * columns);
      scratch = std::max(scratch, orthogonalize_bytes(rows, columns));
    });
    constexpr std::int64_t line = 16;  // elements
    matrix = (matrix + line - 1) / line * line;
  }
  std::int64_t elements() const { return directions + matrix; }
  std::int64_t bytes() const {
    return elements() * std::int64_t{sizeof(float)} + static_cast<std::int64_t>(scratch);
  }
  std::int64_t directions = 0, matrix = 0;
  std::size_t scratch = 0;
};

// The part of a matrix that begins at `at`.
Tensor box(const Tensor& matrix, const Shape& at, const Shape& extent) {
  return matrix.slice(0, at[0], extent[0]).slice(1, at[1], extent[1]);
}

}  // namespace

Orthogonalizer::Orthogonalizer(ParameterStore& store, const OptimizerConfig& config,
                               const MatrixRule& rule)
    : store_(store),
      config_(config),
      rule_(rule),
      memory_(store.memory().take("orthogonalization",
                                  static_cast<std::size_t>(bytes_of(store.blocks())))) {
  const Sizes sizes(store.blocks());
  const Tensor all = memory_.tensor(DType::f32, {sizes.elements()});
  directions_ = all.slice(0, 0, sizes.directions);
  whole_ = all.slice(0, sizes.directions, sizes.matrix);
  scratch_ = Arena(static_cast<std::byte*>(all.data()) + all.bytes(), sizes.scratch, all.space());
}

std::int64_t Orthogonalizer::bytes_of(const std::vector<ParameterBlock>& blocks) {
  const Sizes sizes(blocks);
  return sizes.directions == 0 ? 0 : sizes.bytes();
}

void Orthogonalizer::gather(const Stream& stream, int index) {
  const Tensor all = direction({0, block(index).elements});
  store_.shard_group().all_gather(stream, all, direction(block(index).own)).wait(stream);
}

void Orthogonalizer::orthogonalize(const Stream& stream, int index) {
  const std::vector<int> owners = matrix_owners(block(index), store_.shard_group().size());
  for (std::size_t p = 0; p < owners.size(); ++p) {
    if (owners[p] != store_.shard_group().rank()) continue;
    const PlacedParameter& param = block(index).params[p];
    for (const BlockMatrix& matrix : matrices_of(param)) orthogonalize(stream, param, matrix);
  }
}

// Every element of a matrix is on one owner; the others add zeros to it.
void Orthogonalizer::orthogonalize(const Stream& stream, const PlacedParameter& param,
                                   const BlockMatrix& matrix) {
  const Tensor whole = whole_.slice(0, 0, matrix.global.elements()).reshape(matrix.global);
  const Tensor local = direction(param.range()).reshape(param.spec.shape);
  fill_zero(stream, whole);
  for (const Piece* piece : matrix.pieces)
    if (piece->owner)
      copy_rows(stream, box(whole, piece->begin, piece->extent),
                box(local, piece->at, piece->extent));
  store_.tensor_group().all_reduce(stream, whole).wait(stream);
  const double factor = rule_.factor(config_, matrix.global[0], matrix.global[1]);
  triax::orthogonalize(stream, whole, rule_.iteration(config_), factor, scratch_);
  for (const Piece* piece : matrix.pieces)
    copy_rows(stream, box(local, piece->at, piece->extent),
              box(whole, piece->begin, piece->extent));
}

void Orthogonalizer::broadcast(const Stream& stream, int index) {
  const std::vector<int> owners = matrix_owners(block(index), store_.shard_group().size());
  for (std::size_t p = 0; p < owners.size(); ++p)
    if (const FlatRange range = block(index).params[p].range(); range.count() > 0)
      store_.shard_group().broadcast(stream, direction(range), owners[p]).wait(stream);
}

}  // namespace triax
