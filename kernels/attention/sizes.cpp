// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/sizes.hpp"

#include <algorithm>

namespace triax::attention {

std::int64_t window_within(const AttentionOptions& options, std::int64_t length) {
  check(options.window >= 0 && options.soft_cap >= 0.0F,
        "attention with a window of {} and a soft cap of {}", options.window, options.soft_cap);
  return options.window == 0 ? length : std::min(options.window, length);
}

Sizes sizes_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  check(q.rank() == 4 && k.rank() == 4 && v.shape() == k.shape(), "attention of {}, {} and {}",
        q.shape(), k.shape(), v.shape());
  const Sizes n{q.size(0), q.size(1), q.size(2),
                k.size(2), q.size(3), window_within(options, q.size(1))};
  check(k.shape() == Shape({n.batch, n.length, n.key_heads, n.head_size}),
        "attention of {} with keys {}", q.shape(), k.shape());
  check(n.head_size >= 1 && n.key_heads >= 1 && n.heads % n.key_heads == 0,
        "attention of {} with keys {}", q.shape(), k.shape());
  check(options.dropout.probability < 1.0F, "dropout with probability {}",
        options.dropout.probability);
  check(options.dropout.probability <= 0.0F || options.total_heads >= options.first_head + n.heads,
        "heads from {} of {} in all", options.first_head, options.total_heads);
  return n;
}

void check_positions(const AttentionOptions& options, const Sizes& n, MemorySpace space) {
  if (options.positions.empty()) return;
  check_views({&options.positions}, {n.batch, n.length}, DType::i32, space);
}

void check_views(std::initializer_list<const Tensor*> views, const Shape& shape, DType dtype,
                 MemorySpace space) {
  for (const Tensor* view : views) {
    check(view->shape() == shape, "attention with {} instead of {}", view->shape(), shape);
    check(view->dtype() == dtype, "attention with {} where there must be {}",
          name_of(view->dtype()), name_of(dtype));
    check(view->space() == space, "attention of memory elsewhere than its stream");
    check(view->size(view->rank() - 1) <= 1 || view->stride(view->rank() - 1) == 1,
          "attention of a view with elements {} apart", view->stride(view->rank() - 1));
  }
}

}  // namespace triax::attention
