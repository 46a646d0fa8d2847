// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checksums of arrays that do not depend on the order of summation: each rank sums the elements it
// holds, and the ranks' sums add up to the array's checksum. Algorithm: io/checkpoint/README.md.
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/base/tensor.hpp"

namespace triax {

/// Name of the algorithm, as written to files.
constexpr const char* checksum_algorithm = "splitmix64-sum";

/// Seed of an array: the 64-bit FNV-1a hash of its name.
std::uint64_t checksum_seed(std::string_view name);

/// Sum over consecutive elements of an array, modulo 2^64. `run`: the elements from index `first`
/// on, contiguous in host memory. Any change of the bits of one element changes the sum, because
/// the element's term is a bijection of its bits. `copy`: null, or memory of any alignment that the
/// elements are copied to on the way, which costs less than reading them twice.
std::uint64_t checksum_of(std::uint64_t seed, std::int64_t first, const Tensor& run,
                          void* copy = nullptr);

/// Adds consecutive elements of an array to its sums, one per `block` elements (>= 1).
void add_checksums(std::span<std::uint64_t> sums, std::int64_t block, std::uint64_t seed,
                   std::int64_t first, const Tensor& run);

/// Checksum of a text: its bytes as elements, in one chunk, with the seed of the empty name.
std::uint64_t checksum_of(std::string_view text);

}  // namespace triax
