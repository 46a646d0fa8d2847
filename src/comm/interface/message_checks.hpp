// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks on the tensors of a message. A failed check throws Error.
#include <cstddef>
#include <cstdint>

#include "kernels/base/check.hpp"
#include "kernels/base/tensor.hpp"

namespace triax {

/// Requires a contiguous tensor in host memory: for communicators that use MPI.
inline void check_message(const Tensor& tensor) {
  check(tensor.contiguous(), "a message of a tensor {} that is not contiguous", tensor.shape());
  check(tensor.space() == MemorySpace::host, "MPI was given memory of a device");
  check(tensor.data() != nullptr || tensor.elements() == 0,
        "a message of a tensor {} without memory", tensor.shape());
}

inline std::uint64_t byte_count(const Tensor& tensor) {
  return static_cast<std::uint64_t>(tensor.bytes());
}

/// Address of shard `rank` of `whole`; shards are as large as `part`.
inline char* part_of(const Tensor& whole, int rank, const Tensor& part) {
  return static_cast<char*>(whole.data()) + rank * part.bytes();
}

/// Requires `part` to be one of `size` equal shards of `whole`, either apart from it or exactly at
/// shard `rank` (in place).
inline void check_part(const Tensor& part, const Tensor& whole, int rank, int size) {
  check_message(part);
  check_message(whole);
  check(part.dtype() == whole.dtype() && part.elements() * size == whole.elements(),
        "{} of {} is not one of {} parts of {} of {}", part.shape(), name_of(part.dtype()), size,
        whole.shape(), name_of(whole.dtype()));
  const char* const begin = static_cast<const char*>(part.data());
  const char* const whole_begin = static_cast<const char*>(whole.data());
  const bool apart = begin + part.bytes() <= whole_begin || whole_begin + whole.bytes() <= begin;
  check(apart || begin == part_of(whole, rank, part),
        "the parts of a collective overlap other than in place");
}

/// Requires elements [begin, begin + count) to lie within each of `size` equal shards of `whole`.
/// Returns the elements per shard.
inline std::int64_t check_run(const Tensor& whole, int size, std::int64_t begin,
                              std::int64_t count) {
  const std::int64_t part = whole.elements() / size;
  check(part * size == whole.elements() && begin >= 0 && count >= 0 && begin + count <= part,
        "elements [{}, {}) of each of {} parts of {}", begin, begin + count, size, whole.shape());
  return part;
}

}  // namespace triax
