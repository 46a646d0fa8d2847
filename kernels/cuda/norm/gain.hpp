// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weight of a norm: as stored or, if `shifted`, plus an offset (Gemma stores weight - 1).
#include "kernels/cuda/launch/views.hpp"

namespace triax::cuda {

template <class T, bool shifted>
struct Gain {
  const T* weight;
  float offset;

  /// to[0, wide<T>) = the gains from `column` on; those beyond `columns` are arbitrary, but finite.
  template <bool allowed>
  TRIAX_DEVICE void load(float* to, int column, int columns) const {
    load_piece<allowed>(to, weight + column, columns - column);
    if constexpr (shifted) {
      TRIAX_UNROLL
      for (int i = 0; i < wide<T>; ++i) to[i] += offset;
    }
  }
};

}  // namespace triax::cuda
