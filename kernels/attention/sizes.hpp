// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes and checks of attention's tensors, shared by host and device.
#include <cstdint>
#include <initializer_list>

#include "kernels/attention/attention.hpp"

namespace triax::attention {

struct Sizes {
  std::int64_t batch = 0;
  std::int64_t length = 0;  // T
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_size = 0;  // D
  std::int64_t window = 0;     // keys that a query sees at most: from 1 to T
  std::int64_t group() const { return heads / key_heads; }
};

/// Keys that one of `length` queries sees at most, from 1 to `length`. An internal error if the
/// window or the soft cap of `options` is negative.
std::int64_t window_within(const AttentionOptions& options, std::int64_t length);

/// The sizes that q, k and v agree on. An internal error if they or the options do not agree.
Sizes sizes_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);

/// An internal error unless the positions of `options`, if there are any, are those of B sequences
/// of T tokens in `space`.
void check_positions(const AttentionOptions& options, const Sizes& n, MemorySpace space);

/// An internal error unless every view has this shape, type and memory space and a unit last
/// stride.
void check_views(std::initializer_list<const Tensor*> views, const Shape& shape, DType dtype,
                 MemorySpace space);

/// The device backward pass's scratch: sum over D of dout * out for each row of each head, (B, H,
/// T).
inline Tensor take_delta(Arena& scratch, std::int64_t batch, std::int64_t heads,
                         std::int64_t length) {
  return scratch.take("attention delta", DType::f32, {batch, heads, length});
}

}  // namespace triax::attention
