// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/paged/paged_cache.hpp"

#include <algorithm>

#include "kernels/base/with_type.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {

template <class T>
struct PageWriter {
  T* cache;
  std::int64_t kv_heads, head_size, page_tokens;
  const float *k, *v;
  std::int64_t k_stride, v_stride;

  // The rows of a chunk for one head, in order.
  void write(const PagedChunk& chunk, std::int64_t g) const {
    const std::int64_t floats = page_tokens * head_size;
    for (std::int64_t i = 0; i < chunk.rows; ++i) {
      const std::int64_t position = chunk.past + i, offset = position % page_tokens;
      T* const keys =
          cache + (chunk.table[position / page_tokens] * kv_heads + g) * std::int64_t{2} * floats;
      T* const values = keys + floats;
      const float* const key = k + (chunk.first_row + i) * k_stride + g * head_size;
      const float* const value = v + (chunk.first_row + i) * v_stride + g * head_size;
      // Weights of 0 fall on them: what another sequence left there may be no finite number.
      if (offset == 0) std::fill_n(values + head_size, floats - head_size, static_cast<T>(0.0F));
      for (std::int64_t d = 0; d < head_size; ++d) {
        keys[d * page_tokens + offset] = static_cast<T>(key[d]);
        values[offset * head_size + d] = static_cast<T>(value[d]);
      }
    }
  }
};

}  // namespace

void store_pages(const Stream& stream, const Tensor& cache, std::int64_t page_tokens,
                 const Tensor& k, const Tensor& v, std::span<const PagedChunk> chunks) {
  check(stream.space() == MemorySpace::host, "a paged KV cache on a device");
  check(k.rank() == 3 && v.shape() == k.shape() && cache.rank() == 4 && cache.contiguous() &&
            cache.shape() == paged_cache_shape(cache.size(0), k.size(1), page_tokens, k.size(2)),
        "keys {} and values {} for pages {}", k.shape(), v.shape(), cache.shape());
  check(page_tokens % page_multiple == 0 && paged_span % page_tokens == 0, "pages of {} positions",
        page_tokens);
  const std::int64_t heads = k.size(1);
  const PagedChunk* const of = chunks.data();
  with_type(cache.dtype(), [&]<class T>(Type<T>) {
    const PageWriter<T> writer{cache.as<T>(), heads,         k.size(2),   page_tokens,
                               k.as<float>(), v.as<float>(), k.stride(0), v.stride(0)};
    parallel_for(std::ssize(chunks) * heads,
                 [=](std::int64_t i) { writer.write(of[i / heads], i % heads); });
  });
}

}  // namespace triax
