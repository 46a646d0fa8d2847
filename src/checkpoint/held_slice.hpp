// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of tensors in a rank's buckets, as they are saved and restored. Internal to checkpoint.cpp
// and checkpoint_restore.cpp.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/hdf5/boxes.hpp"
#include "kernels/optimizer/quantized/packed_state.hpp"
#include "src/state/offload/staging.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

// Boxes of the global tensor that a range of a piece's elements covers.
inline std::vector<hdf5::Box> boxes_of(const PieceRange& range) {
  std::array<std::int64_t, Shape::max_rank> offset{};
  for (int d = 0; d < range.piece->begin.rank(); ++d)
    offset[static_cast<std::size_t>(d)] = range.piece->begin[d];
  return hdf5::shifted(hdf5::flat_range_boxes(range.piece->extent, range.begin, range.end), offset);
}

// Flat range of the local tensor that holds the elements of `range`; nothing if they are not
// contiguous there.
inline std::optional<FlatRange> side_by_side(const PieceRange& range, const Shape& local) {
  std::optional<FlatRange> all;
  bool gaps = false;
  for_each_run(range, local, [&](std::int64_t at, std::int64_t, std::int64_t count) {
    gaps |= all && all->end != at;
    all = {all ? all->begin : at, at + count};
  });
  return gaps ? std::nullopt : all;
}

// Packed state of the elements of a bucket from `begin` on, which begins a cell.
struct PackedCells {
  Tensor bytes;
  std::int64_t begin;
  CodeMap map;
};

// A part of a piece, and the view of its block that has it. Packed state is float32 for files.
struct HeldSlice {
  PieceRange range;
  const PlacedParameter* param;
  BlockView view;
  std::optional<PackedCells> packed = {};  // in place of the view's data

  const std::string& name() const { return range.piece->name; }
  std::int64_t elements() const { return range.end - range.begin; }
  DType type() const { return packed ? DType::f32 : view.data.dtype(); }
  MemorySpace space() const { return packed ? packed->bytes.space() : view.data.space(); }
  // Memory of the elements, if they are contiguous.
  std::optional<Tensor> one_run() const {
    if (packed) return std::nullopt;
    const auto run = side_by_side(range, param->spec.shape);
    if (!run) return std::nullopt;
    return view.at({param->offset + run->begin, param->offset + run->end});
  }
  // Memory of the elements, if they are contiguous and on the host: files are read into it and
  // written from it directly.
  std::optional<Tensor> host_run() const {
    return space() == MemorySpace::host ? one_run() : std::nullopt;
  }
  // Calls visit(memory, part of `flat`) for each contiguous range of the elements. `flat`:
  // (elements).
  template <class Visit>
  void each_run(const Tensor& flat, Visit&& visit) const {
    std::int64_t done = 0;
    for_each_run(range, param->spec.shape, [&](std::int64_t at, std::int64_t, std::int64_t count) {
      const std::int64_t begin = param->offset + at;
      visit(view.at({begin, begin + count}), flat.slice(0, done, count));
      done += count;
    });
  }
  // to = the elements, of type(). For a device it enqueues work on `stream`; it runs on the calling
  // thread.
  void copy_to(const Stream& stream, const Tensor& to) const {
    if (packed) return unpack_to(stream, to);
    each_run(to, [&](const Tensor& run, const Tensor& part) { copy(stream, part, run); });
  }

 private:
  void unpack_to(const Stream& stream, const Tensor& to) const {
    std::int64_t done = 0;
    for_each_run(range, param->spec.shape, [&](std::int64_t at, std::int64_t, std::int64_t count) {
      unpack_state(stream, to.slice(0, done, count), packed->bytes,
                   param->offset + at - packed->begin, packed->map);
      done += count;
    });
  }
};

// Calls visit(HeldSlice) for every piece of a parameter for which keep(piece) holds, clipped to
// `range` of the bucket. `range` must lie within the view.
template <class Keep, class Visit>
void each_part(const PlacedParameter& param, const FlatRange& range, const BlockView& view,
               Keep&& keep, Visit&& visit) {
  const FlatRange here = intersect(param.range(), range);
  for (const Piece& piece : param.spec.pieces) {
    const PieceRange whole =
        intersect(piece, param.spec.shape, here.begin - param.offset, here.end - param.offset);
    if (whole.begin < whole.end && keep(piece)) visit(HeldSlice{whole, &param, view});
  }
}

// The same for all parameters of a bucket.
template <class Keep, class Visit>
void each_part(const ParameterBlock& block, const FlatRange& range, const BlockView& view,
               Keep&& keep, Visit&& visit) {
  for (const PlacedParameter& param : block.params) each_part(param, range, view, keep, visit);
}

// Cuts `whole` into parts that fit the bounce buffer `staging` and calls move(part, memory) for
// each. `memory`: (elements of the part), of `type`.
template <class Move>
void each_staged(Staging& staging, const HeldSlice& whole, DType type, Move&& move) {
  HeldSlice part = whole;
  for (; part.range.begin < whole.range.end; part.range.begin = part.range.end) {
    part.range.end = std::min(whole.range.end, part.range.begin + staged_elements);
    move(part, staging.take(whole.space(), type, part.elements()));
  }
}

}  // namespace triax
