// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/quantized/packed_state.hpp"

#include "kernels/base/rows.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/optimizer/quantized/cell_loops.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {

bool same(const float* a, const float* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

// A cell's scale is its largest magnitude, which the highest code means. Where the largest is
// negative, it unpacks to the lowest level times the scale: then the scale is near the quotient.
template <CodeMap map>
void pack_and_restore(std::uint8_t* cell, const float* from, std::int64_t n,
                      const DynamicMap& tables) {
  float unpacked[cell_elements];
  const float most = largest_of(from, n);
  const auto restores = [&](float scale) {
    pack_cell<map>(cell, from, n, scale, tables);
    unpack_cell(unpacked, cell, 0, n, tables.levels.data());
    return same(unpacked, from, n);
  };
  if (restores(most)) return;
  if constexpr (map == CodeMap::signs) {
    const float quotient = most / -tables.levels.front();
    for (const float scale :
         {std::nextafter(quotient, 0.0F), quotient, std::nextafter(quotient, 2.0F * quotient)})
      if (restores(scale)) return;
  }
  pack_cell<map>(cell, from, n, most, tables);
}

}  // namespace

void unpack_state(const Stream& stream, const Tensor& to, const Tensor& packed, std::int64_t first,
                  CodeMap map) {
  const std::int64_t n = to.elements();
  check(packed_bytes(first + n) <= packed.elements(), "{} elements from {} of {} bytes", n, first,
        packed.elements());
  if (packed.space() == MemorySpace::device)
    return cuda::unpack_state(stream, to, packed, first, map);
  float* values = elements_of(to, n, "to");
  const std::uint8_t* cells = elements_of<std::uint8_t>(packed, packed.elements(), "packed");
  const float* levels = dynamic_map(map).levels.data();
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t at = (first + i) % cell_elements;
    const std::int64_t count = std::min(n - i, cell_elements - at);
    unpack_cell(values + i, cells + (first + i) / cell_elements * cell_bytes, at, count, levels);
    i += count;
  }
}

void pack_state(const Tensor& packed, const Tensor& from, CodeMap map) {
  const std::int64_t n = from.elements();
  const float* values = elements_of(from, n, "from");
  std::uint8_t* cells = elements_of<std::uint8_t>(packed, packed_bytes(n), "packed");
  const DynamicMap& tables = dynamic_map(map);
  parallel_for(cells_of(n), [=, &tables](std::int64_t cell) {
    const std::int64_t begin = cell * cell_elements;
    const std::int64_t count = std::min(cell_elements, n - begin);
    if (map == CodeMap::signs)
      pack_and_restore<CodeMap::signs>(cells + cell * cell_bytes, values + begin, count, tables);
    else
      pack_and_restore<CodeMap::positive>(cells + cell * cell_bytes, values + begin, count, tables);
  });
}

}  // namespace triax
