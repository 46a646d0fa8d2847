// SPDX-License-Identifier: Apache-2.0
#include "src/plan/layer_pools.hpp"

#include <algorithm>

#include "src/schedule/plan.hpp"

namespace triax {
namespace {

// pool(layer) of all layers.
template <class Pool>
std::vector<std::vector<int>> pools_of(const Stage& stage, const Pool& pool) {
  std::vector<std::vector<int>> pools;
  for (int chunk = 0; chunk < stage.chunks(); ++chunk) {
    auto& row = pools.emplace_back();
    for (int layer = 0; layer < stage.layers(chunk); ++layer)
      row.push_back(pool(stage.layer(chunk, layer)));
  }
  return pools;
}

// Number of the pool of buffers of that size, perhaps a new one.
int pool_of(std::vector<std::size_t>& sizes, std::size_t bytes) {
  const auto found = std::ranges::find(sizes, bytes);
  const auto number = static_cast<int>(found - sizes.begin());
  if (found == sizes.end()) sizes.push_back(bytes);
  return number;
}

}  // namespace

std::vector<std::vector<int>> frame_pools(const Stage& stage, const BatchShape& shape) {
  std::vector<std::size_t> sizes;
  return pools_of(stage,
                  [&](const Layer& layer) { return pool_of(sizes, layer.frame_bytes(shape)); });
}

std::vector<std::vector<int>> operand_pools(const Stage& stage, const BatchShape& shape,
                                            const std::vector<std::vector<int>>& frames) {
  int first = 0;
  for (const auto& chunk : frames)
    for (const int pool : chunk) first = std::max(first, pool + 1);
  std::vector<std::size_t> sizes;
  return pools_of(stage, [&](const Layer& layer) {
    const std::size_t bytes = layer.operand_bytes(shape);
    return bytes == 0 ? no_operands : first + pool_of(sizes, bytes);
  });
}

}  // namespace triax
