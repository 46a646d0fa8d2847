// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weight of a norm: as stored, or plus an offset (Gemma stores weight - 1).
#include <cstdint>

#include "kernels/simd/vector_loop.hpp"

namespace triax {

template <class T>
struct StoredWeight {
  const T* weight;

  template <class Lanes>
  [[gnu::always_inline]] FloatVector operator()(std::int64_t c, Lanes lanes) const {
    return lanes.load(weight + c);
  }
};

template <class T>
struct OffsetWeight {
  const T* weight;
  float offset;

  template <class Lanes>
  [[gnu::always_inline]] FloatVector operator()(std::int64_t c, Lanes lanes) const {
    return lanes.load(weight + c) + offset;
  }
};

/// body(gain), where gain(c, lanes) is the vector of weight + offset from column c on. Without an
/// offset nothing is added.
template <class T, class Body>
void with_weight(const T* weight, float offset, const Body& body) {
  if (offset == 0.0F)
    body(StoredWeight<T>{weight});
  else
    body(OffsetWeight<T>{weight, offset});
}

}  // namespace triax
