// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/block_pool.hpp"

#include <gtest/gtest.h>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Tokens = std::vector<std::int32_t>;

TEST(BlockPool, GivesEachBlockOnceAndTheOldestFirst) {
  BlockPool pool(3, true);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.take(), 1);
  EXPECT_EQ(pool.take(), 2);
  EXPECT_EQ(pool.free_blocks(), 0);
  EXPECT_THROW(pool.take(), Error);
  pool.release(1);
  pool.release(0);
  EXPECT_EQ(pool.take(), 1);
  EXPECT_EQ(pool.take(), 0);
}

TEST(BlockPool, FindsContentsUntilTheirBlocksAreNeeded) {
  BlockPool pool(2, true);
  const std::int32_t a = pool.take();
  const PrefixId first = pool.name(a, 0, Tokens{1, 2});
  const std::int32_t b = pool.take();
  const PrefixId second = pool.name(b, first, Tokens{3, 4});
  EXPECT_NE(first, second);
  pool.release(b);
  pool.release(a);
  EXPECT_EQ(pool.free_blocks(), 2);
  const auto found = pool.find(0, Tokens{1, 2});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->block, a);
  EXPECT_EQ(found->content, first);
  EXPECT_FALSE(pool.find(0, Tokens{3, 4})) << "behind another beginning";
  EXPECT_FALSE(pool.find(first, Tokens{3, 5}));
  EXPECT_EQ(pool.take(), b) << "the only free one";
  EXPECT_FALSE(pool.find(first, Tokens{3, 4}));
}

TEST(BlockPool, CountsUses) {
  BlockPool pool(2, true);
  const std::int32_t a = pool.take();
  pool.name(a, 0, Tokens{1});
  EXPECT_EQ(pool.find(0, Tokens{1})->block, a);
  pool.release(a);
  EXPECT_EQ(pool.free_blocks(), 1) << "used once more";
  pool.release(a);
  EXPECT_EQ(pool.free_blocks(), 2);
  EXPECT_THROW(pool.release(a), Error);
}

TEST(BlockPool, TwinsHaveOneIdentity) {
  BlockPool pool(3, true);
  const std::int32_t a = pool.take(), b = pool.take();
  const PrefixId content = pool.name(a, 0, Tokens{1});
  EXPECT_EQ(pool.name(b, 0, Tokens{1}), content);
  pool.release(b);
  EXPECT_EQ(pool.find(0, Tokens{1})->block, a);
}

TEST(BlockPool, MayKeepNothing) {
  BlockPool pool(1, false);
  const std::int32_t a = pool.take();
  EXPECT_EQ(pool.name(a, 0, Tokens{1}), 0U);
  pool.release(a);
  EXPECT_FALSE(pool.find(0, Tokens{1}));
  BlockPool forgetful(1, true);
  forgetful.name(forgetful.take(), 0, Tokens{1});
  forgetful.forget();
  EXPECT_FALSE(forgetful.find(0, Tokens{1}));
}

}  // namespace
}  // namespace triax
