// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi/rank_order_sum.hpp"

#include <cstring>

#include "kernels/base/with_type.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

template <class T>
const T* of_type(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}
template <class T>
T* of_type(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

// n elements; `more` holds the terms after the first two.
template <class T>
void sum(const T* a, const T* b, std::span<const std::byte* const> more, T* to, T* copy,
         std::int64_t n, const std::byte* streamed) {
  constexpr auto width = static_cast<std::int64_t>(sizeof(T));
  for_vectors(0, n, [&](std::int64_t i, auto lanes) {
    if (streamed != nullptr) prefetch(streamed + i * width + bytes_ahead);
    FloatVector total = lanes.load(a + i) + lanes.load(b + i);
    for (const std::byte* const term : more) total += lanes.load(of_type<T>(term) + i);
    lanes.store(to + i, total);
    if (copy != nullptr) lanes.store(copy + i, total);
  });
}

}  // namespace

void rank_order_sum(DType type, std::span<const std::byte* const> from, std::byte* to,
                    std::byte* copy, std::int64_t bytes, const std::byte* streamed) {
  check(from.size() >= 2, "a sum of {} terms", from.size());
  with_type(type, [&]<class T>(Type<T>) {
    sum(of_type<T>(from[0]), of_type<T>(from[1]), from.subspan(2), of_type<T>(to), of_type<T>(copy),
        bytes / static_cast<std::int64_t>(sizeof(T)), streamed);
  });
}

void streamed_copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::int64_t at = 0;
  for (; at + vector_bytes <= bytes; at += vector_bytes) {
    prefetch(from + at + bytes_ahead);
    store(reinterpret_cast<float*>(to + at), load(reinterpret_cast<const float*>(from + at)));
  }
  if (at < bytes) std::memcpy(to + at, from + at, static_cast<std::size_t>(bytes - at));
}

}  // namespace triax
