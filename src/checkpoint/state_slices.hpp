// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pieces of optimizer states in a rank's buckets, packed or not. Internal to checkpoint.cpp and
// checkpoint_restore.cpp.
#include "src/checkpoint/held_slice.hpp"
#include "src/state/optimizer/optimizer.hpp"
#include "src/state/optimizer/packed_states.hpp"

namespace triax {

// Calls visit(parameter, its range, view) for each parameter of a bucket that has elements in
// `range`: `view` has their state, packed or not, or no data if `state` has none.
template <class Visit>
void each_state(const ParameterBlock& block, const StateKind& kind, const FlatRange& range,
                const BlockView& state, Visit&& visit) {
  for (int p = 0; p < std::ssize(block.params); ++p) {
    const PlacedParameter& param = block.params[static_cast<std::size_t>(p)];
    const FlatRange here = intersect(param.range(), range);
    if (here.count() == 0) continue;
    visit(param, here,
          BlockView{state.data.empty() ? Tensor{} : state_at(kind, block, p, state, here), here});
  }
}

// Calls visit(HeldSlice) for every piece of a state for which keep(piece) holds, clipped to `range`
// of the bucket.
template <class Keep, class Visit>
void each_state_part(const ParameterBlock& block, const StateKind& kind, const FlatRange& range,
                     const BlockView& state, Keep&& keep, Visit&& visit) {
  if (!kind.packed) return each_part(block, range, state, keep, visit);
  each_state(block, kind, range, state,
             [&](const PlacedParameter& param, const FlatRange& here, const BlockView& view) {
               each_part(param, here, view, keep, [&](HeldSlice slice) {
                 if (is_packed(param.spec))
                   slice.packed = PackedCells{view.data, here.begin, *kind.packed};
                 visit(slice);
               });
             });
}

// Packed state of a device or host as it is restored: a range of whole cells at a time, in float32.
class PackedWindows {
 public:
  PackedWindows(const Stream& stream, const WaitForDevice& wait)
      : stream_(stream), values_(wait), cells_(wait) {}

  // Zeros for the elements of `window`.
  BlockView open(const FlatRange& window) {
    const Tensor values = values_.take(MemorySpace::host, DType::f32, window.count());
    fill_zero(Stream(), values);
    return {values, window};
  }
  // Packs what open() returned. `state`: that of a parameter.
  void close(const BlockView& values, const BlockView& state, CodeMap map) {
    const FlatRange& window = values.range;
    const Tensor to = state.data.slice(0, packed_bytes(window.begin - state.range.begin),
                                       packed_bytes(window.count()));
    if (to.space() == MemorySpace::host) return pack_state(to, values.data, map);
    const Tensor packed = cells_.take(to.space(), DType::u8, to.elements());
    pack_state(packed, values.data, map);
    cells_.put(stream_, to, packed);
  }

 private:
  const Stream& stream_;
  Staging values_, cells_;
};

// In their place where nothing is read yet.
struct NoWindows {
  static BlockView open(const FlatRange& window) { return {{}, window}; }
  static void close(const BlockView&, const BlockView&, CodeMap) {}
};

// Calls visit(HeldSlice) for the pieces of a state, in the order in which they are restored. Those
// of packed state are pieces of windows of at most staged_elements elements.
template <class Windows, class Visit>
void each_restored(const ParameterBlock& block, const StateKind& kind, const BlockView& state,
                   Windows& windows, Visit&& visit) {
  static_assert(staged_elements % cell_elements == 0);
  const auto all = [](const Piece&) { return true; };
  if (!kind.packed) return each_part(block, state.range, state, all, visit);
  each_state(block, kind, state.range, state,
             [&](const PlacedParameter& param, const FlatRange& here, const BlockView& view) {
               if (!is_packed(param.spec)) return each_part(param, here, view, all, visit);
               for (std::int64_t at = here.begin; at < here.end; at += staged_elements) {
                 const FlatRange window{at, std::min(here.end, at + staged_elements)};
                 const BlockView values = windows.open(window);
                 each_part(param, window, values, all, visit);
                 windows.close(values, view, *kind.packed);
               }
             });
}

}  // namespace triax
