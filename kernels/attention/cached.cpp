// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/cached.hpp"

#include <algorithm>

#include "kernels/attention/cached_attention.hpp"

namespace triax::attention {

Sizes cached_sizes_of(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                      MemorySpace space) {
  check(q.rank() == 4 && k.rank() == 4, "attention of {} over {} that were kept", q.shape(),
        k.shape());
  const Sizes n{q.size(0), q.size(1), q.size(2), k.size(2), q.size(3)};
  const std::int64_t positions = k.size(1);
  check(positions >= n.length && n.head_size >= 1 && n.key_heads >= 1 && n.heads % n.key_heads == 0,
        "attention of {} over {} that were kept", q.shape(), k.shape());
  check_views({&out, &q}, q.shape(), q.dtype(), space);
  check_views({&k, &v}, {n.batch, positions, n.key_heads, n.head_size}, q.dtype(), space);
  return n;
}

}  // namespace triax::attention

namespace triax {

std::size_t cached_attention_scratch_bytes(const Shape& queries, std::int64_t positions) {
  using attention::CachedCut;
  const std::int64_t blocks = (positions + CachedCut::block - 1) / CachedCut::block;
  Arena measure;
  attention::CachedPartials(measure, queries, std::min(blocks, CachedCut::most_parts));
  return measure.used();
}

}  // namespace triax
