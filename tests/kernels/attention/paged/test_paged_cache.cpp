// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/paged/paged_cache.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace triax {
namespace {

// Keys lie as (D, T), values as (T, D); a page's other values are cleared with its first position.
TEST(StorePages, PutsEachPositionIntoItsPage) {
  constexpr std::int64_t pages = 3, heads = 2, T = 16, D = 3;
  std::vector<float> memory(pages * heads * 2 * T * D, std::numeric_limits<float>::quiet_NaN());
  const Tensor cache(memory.data(), paged_cache_shape(pages, heads, T, D));
  std::vector<float> k(2 * heads * D), v(k.size());
  for (std::size_t i = 0; i < k.size(); ++i) {
    k[i] = 1.0F + static_cast<float>(i);
    v[i] = -k[i];
  }
  const std::vector<std::int32_t> table = {2, 0};
  const std::vector<PagedChunk> chunks = {{0, 2, 15, table.data()}};
  store_pages(Stream(MemorySpace::host), cache, T, Tensor(k.data(), {2, heads, D}),
              Tensor(v.data(), {2, heads, D}), chunks);
  const auto at = [&](std::int64_t page, std::int64_t g, std::int64_t half, std::int64_t i) {
    return memory[static_cast<std::size_t>(((page * heads + g) * 2 + half) * T * D + i)];
  };
  for (std::int64_t g = 0; g < heads; ++g)
    for (std::int64_t d = 0; d < D; ++d) {
      const auto first = static_cast<float>(1 + g * D + d);
      const float second = first + heads * D;
      EXPECT_EQ(at(2, g, 0, d * T + 15), first);
      EXPECT_EQ(at(2, g, 1, 15 * D + d), -first);
      EXPECT_EQ(at(0, g, 0, d * T), second);
      EXPECT_EQ(at(0, g, 1, d), -second);
      EXPECT_EQ(at(0, g, 1, 5 * D + d), 0.0F);
      EXPECT_TRUE(std::isnan(at(2, g, 1, 5 * D + d))) << "not its first position";
    }
}

TEST(StorePages, RefusesPagesOfOtherSizes) {
  std::vector<float> memory(1000);
  const Stream stream(MemorySpace::host);
  const Tensor rows(memory.data(), {1, 1, 4});
  EXPECT_THROW(store_pages(stream, Tensor(memory.data(), paged_cache_shape(1, 1, 24, 4)), 24, rows,
                           rows, {}),
               std::exception);
}

}  // namespace
}  // namespace triax
