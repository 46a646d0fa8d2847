#pragma once
// What q, k and v of attention must agree on, wherever they lie.
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
  std::int64_t group() const { return heads / key_heads; }
};

/// The sizes that q, k and v agree on; checks them and the options.
Sizes sizes_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);

/// Checks shape, type, place and unit stride.
void check_views(std::initializer_list<const Tensor*> views, const Shape& shape, DType dtype,
                 MemorySpace space);

/// What the backward pass of a device takes from its scratch: for each row of each head the sum of
/// dout out, (B, H, T).
inline Tensor take_delta(Arena& scratch, std::int64_t batch, std::int64_t heads,
                         std::int64_t length) {
  return scratch.take("attention delta", DType::f32, {batch, heads, length});
}

}  // namespace triax::attention
