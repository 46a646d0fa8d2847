#include "io/checksum.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "kernels/base/splitmix.hpp"

namespace triax {
namespace {

// The sum over elements [first, first + count) of splitmix64((seed + golden * index) ^ bits). The
// compiler vectorises it.
template <class Bits>
std::uint64_t sum_of(const Bits* elements, std::int64_t count, std::uint64_t seed,
                     std::int64_t first) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  const std::uint64_t begin = seed + golden * static_cast<std::uint64_t>(first);
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += splitmix64((begin + golden * static_cast<std::uint64_t>(i)) ^
                      static_cast<std::uint64_t>(elements[i]));
  return sum;
}

template <class Bits>
std::uint64_t sum_of(const Tensor& run, std::uint64_t seed, std::int64_t first) {
  return sum_of(static_cast<const Bits*>(run.data()), run.elements(), seed, first);
}

}  // namespace

std::uint64_t checksum_of(std::uint64_t seed, std::int64_t first, const Tensor& run) {
  check(run.contiguous() && run.space() == MemorySpace::host,
        "the checksum of a strided or device tensor");
  switch (size_of(run.dtype())) {
    case 1:
      return sum_of<std::uint8_t>(run, seed, first);
    case 2:
      return sum_of<std::uint16_t>(run, seed, first);
    case 4:
      return sum_of<std::uint32_t>(run, seed, first);
    default:
      return sum_of<std::uint64_t>(run, seed, first);
  }
}

std::uint64_t checksum_seed(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

void add_checksums(std::span<std::uint64_t> sums, std::int64_t block, std::uint64_t seed,
                   std::int64_t first, const Tensor& run) {
  const std::int64_t end = first + run.elements();
  check(first >= 0 && end <= static_cast<std::int64_t>(sums.size()) * block,
        "checksums of elements [{}, {}) in {} blocks of {}", first, end, sums.size(), block);
  auto* data = static_cast<char*>(run.data());
  for (std::int64_t at = first; at < end;) {
    const std::int64_t stop = std::min(end, (at / block + 1) * block);
    const Tensor part(data, run.dtype(), {stop - at});
    sums[static_cast<std::size_t>(at / block)] += checksum_of(seed, at, part);
    data += part.bytes();
    at = stop;
  }
}

std::uint64_t checksum_of(std::string_view text) {
  return sum_of(reinterpret_cast<const std::uint8_t*>(text.data()),
                static_cast<std::int64_t>(text.size()), checksum_seed({}), 0);
}

}  // namespace triax
