#pragma once
// Checksums of arrays that do not depend on the order in which their elements are seen: whoever
// holds some elements adds them, and the sums of all holders together are the array's. Defined in
// io/README.md.
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/base/tensor.hpp"

namespace triax {

/// Name of the algorithm, as files carry it.
constexpr const char* checksum_algorithm = "splitmix64-sum";

/// What tells one array from another: the FNV-1a hash of its name.
std::uint64_t checksum_seed(std::string_view name);

/// The sum over consecutive elements of an array, modulo 2^64. `run`: contiguous, on the host, the
/// elements from `first` on. Any change of bits within one element changes the sum: the element's
/// term is a bijection of its bits. `copy`: null, or where the elements are copied on the way, to
/// any byte, which costs less than to read them twice.
std::uint64_t checksum_of(std::uint64_t seed, std::int64_t first, const Tensor& run,
                          void* copy = nullptr);

/// Adds consecutive elements of an array to its sums, one for each `block` elements (>= 1).
void add_checksums(std::span<std::uint64_t> sums, std::int64_t block, std::uint64_t seed,
                   std::int64_t first, const Tensor& run);

/// Of the bytes of a text, as one block.
std::uint64_t checksum_of(std::string_view text);

}  // namespace triax
