// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/packed_states.hpp"

#include <algorithm>

#include "kernels/optimizer/quantized/packed_state.hpp"

namespace triax {
namespace {

constexpr std::int64_t least_packed = 4096;  // elements of a tensor; bitsandbytes' min_8bit_size
constexpr std::int64_t line = 64;            // bytes: states begin at cache lines

constexpr std::int64_t width = sizeof(float);

// Elements of the small tensors among the first `params` of a bucket.
std::int64_t small_elements(const ParameterBlock& block, std::size_t params) {
  std::int64_t elements = 0;
  for (std::size_t p = 0; p < params; ++p)
    if (const ParameterSpec& spec = block.params[p].spec; !is_packed(spec))
      elements += spec.shape.elements();
  return elements;
}

// Whether a piece of a vector or matrix begins a cell, or does so in each row if it has not whole
// rows.
bool begins_cells(const Piece& piece, const Shape& local) {
  const auto whole = [](std::int64_t elements) { return elements % cell_elements == 0; };
  if (local.rank() == 1) return whole(piece.at[0]);
  if (local.rank() != 2) return false;
  if (piece.extent[1] == local[1]) return whole(piece.at[0] * local[1]);
  return whole(local[1]) && whole(piece.at[1]);
}

}  // namespace

bool has_packed(const std::vector<StateKind>& states) {
  return std::ranges::any_of(states,
                             [](const StateKind& state) { return state.packed.has_value(); });
}

std::int64_t state_alignment(const std::vector<StateKind>& states) {
  return has_packed(states) ? cell_elements : DataShard().alignment;
}

bool is_packed(const ParameterSpec& spec) {
  const Piece& first = spec.pieces.front();
  const bool small = std::ranges::any_of(
      spec.pieces, [](const Piece& piece) { return piece.global.elements() < least_packed; });
  if (small) return false;
  const bool one_tensor = std::ranges::all_of(spec.pieces, [&](const Piece& piece) {
    return piece.name == first.name && piece.copies == 1;
  });
  return one_tensor || std::ranges::all_of(spec.pieces, [&](const Piece& piece) {
           return begins_cells(piece, spec.shape);
         });
}

bool has_state(const StateKind& kind, const ParameterBlock& block) {
  return kind.of(block.matrices);
}

std::int64_t state_elements(const StateKind& kind, const ParameterBlock& block,
                            std::int64_t count) {
  if (!has_state(kind, block)) return 0;
  if (!kind.packed || count == 0) return count;
  const std::int64_t bytes =
      packed_bytes(count) + width * small_elements(block, block.params.size());
  return (bytes + line - 1) / line * line;
}

std::int64_t bytes_of(const std::vector<StateKind>& states, const ParameterBlock& block,
                      std::int64_t count) {
  std::int64_t bytes = 0;
  for (const StateKind& state : states)
    bytes += state_elements(state, block, count) * static_cast<std::int64_t>(size_of(state.type));
  return bytes;
}

double bytes_per_element(const std::vector<StateKind>& states, bool matrix) {
  constexpr double packed = static_cast<double>(packed_bytes(cell_elements)) / cell_elements;
  double bytes = 0.0;
  for (const StateKind& state : states)
    if (state.of(matrix)) bytes += state.packed ? packed : static_cast<double>(size_of(state.type));
  return bytes;
}

Tensor typed(const Tensor& memory, std::int64_t byte, DType type, std::int64_t count) {
  return {static_cast<std::byte*>(memory.data()) + byte, type, {count}, memory.space()};
}

Tensor state_at(const StateKind& kind, const ParameterBlock& block, int parameter,
                const BlockView& view, const FlatRange& range) {
  if (!has_state(kind, block)) return {};
  if (!kind.packed) return view.at(range);
  const auto p = static_cast<std::size_t>(parameter);
  const PlacedParameter& param = block.params[p];
  if (is_packed(param.spec)) {
    const std::int64_t before = range.begin - view.range.begin;
    check(before % cell_elements == 0, "state of {} from within a cell", param.spec.label);
    return view.data.slice(0, packed_bytes(before), packed_bytes(range.count()));
  }
  const std::int64_t element = small_elements(block, p) + range.begin - param.offset;
  return typed(view.data, packed_bytes(view.range.count()) + width * element, DType::f32,
               range.count());
}

Tensor state_portion(const Tensor& state, std::int64_t n, std::int64_t begin, std::int64_t count) {
  if (state.elements() == n) return state.slice(0, begin, count);
  return state.slice(0, packed_bytes(begin), packed_bytes(count));
}

}  // namespace triax
