// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/cached_attention.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/cached.hpp"
#include "kernels/reference/cached_attention.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

using Sizes = reference::CachedAttentionSizes;
constexpr double tolerance = 2e-6;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// One call on a KV cache as the model keeps it: rows of (keys, values), with unused rows behind the
// last position.
class CachedPass {
 public:
  CachedPass(const Sizes& sizes, DType dtype)
      : n(sizes),
        q(test::Array::random(dtype, n.B * n.T * n.H * n.D, 1)),
        k(test::Array::random(dtype, n.B * n.n * n.Hkv * n.D, 2)),
        v(test::Array::random(dtype, n.B * n.n * n.Hkv * n.D, 3)),
        out(dtype, q.count(), nan) {
    options.scale = 1.0F / std::sqrt(static_cast<float>(n.D));
  }

  void run() {
    const std::int64_t width = n.Hkv * n.D;
    const std::int64_t room = n.n + 3;
    std::vector<float> rows(static_cast<std::size_t>(n.B * room * 2 * width), nan);
    const std::vector<float> keys = k.floats(), values = v.floats();
    for (std::int64_t row = 0; row < n.B * n.n; ++row) {
      float* to = rows.data() + (row / n.n * room + row % n.n) * 2 * width;
      std::copy_n(keys.data() + row * width, width, to);
      std::copy_n(values.data() + row * width, width, to + width);
    }
    test::Array cache(q.dtype(), rows);
    const auto half = [&](std::int64_t number) {
      return cache.tensor({n.B * room, 2 * width})
          .slice(1, number * width, width)
          .restrided({n.B, n.n, n.Hkv, n.D}, {room * 2 * width, 2 * width, n.D, 1});
    };
    const Shape queries{n.B, n.T, n.H, n.D};
    const std::size_t bytes = cached_attention_scratch_bytes(queries, n.n);
    test::Scratch scratch(bytes);
    test::run(cached_attention, out.tensor(queries), q.tensor(queries), half(0), half(1), options,
              scratch.arena());
    EXPECT_EQ(scratch.arena().used(), 0U);
    EXPECT_LE(scratch.arena().high_water(), bytes);
  }

  Sizes n;
  AttentionOptions options;
  test::Array q, k, v, out;
};

void expect_like_reference(CachedPass& pass) {
  const Sizes& n = pass.n;
  const AttentionOptions& options = pass.options;
  SCOPED_TRACE(fmt::format("B {} T {} n {} H {} Hkv {} D {} window {} soft cap {}", n.B, n.T, n.n,
                           n.H, n.Hkv, n.D, options.window, options.soft_cap));
  pass.run();
  test::expect_close(
      pass.out,
      reference::cached_attention(n, pass.q.doubles(), pass.k.doubles(), pass.v.doubles(),
                                  options.scale, {options.window, options.soft_cap}),
      tolerance, "out");
}

void expect_like_reference(const Sizes& n, DType dtype) {
  CachedPass pass(n, dtype);
  expect_like_reference(pass);
}

class CachedAttentionOf : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, CachedAttentionOf, test::every_type());

TEST_P(CachedAttentionOf,
       Positions) {  // around the edges of tiles, and several ranges of positions
  for (std::int64_t n : {1, 2, 31, 32, 33, 64, 100, 2048, 2049, 2100})
    expect_like_reference({1, 1, n, 2, 2, 8}, GetParam());
}

// Scratch memory for the last token of a text is enough for each earlier one.
TEST(CachedAttention, ScratchGrowsWithPositions) {
  const Shape queries{1, 1, 3, 8};
  std::size_t before = 0;
  for (std::int64_t n = 1; n <= 5000; ++n) {
    const std::size_t bytes = cached_attention_scratch_bytes(queries, n);
    ASSERT_GE(bytes, before) << n;
    before = bytes;
  }
}

TEST_P(CachedAttentionOf, HeadSizes) {
  for (std::int64_t D : {1, 2, 3, 7, 8, 15, 17, 33, 64, 80, 129, 256})
    expect_like_reference({1, 1, 70, 3, 3, D}, GetParam());
}

TEST_P(CachedAttentionOf, GroupedQueryHeads) {
  for (const auto& [H, Hkv] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {4, 2}, {6, 2}, {5, 1}, {12, 4}})
    expect_like_reference({2, 1, 90, H, Hkv, 24}, GetParam());
}

// Several queries, each with its own mask; early ones see nothing of the last ranges.
TEST_P(CachedAttentionOf, SeveralQueriesAndSamples) {
  for (const auto& [T, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {2, 2}, {3, 40}, {33, 64}, {65, 65}, {70, 200}})
    expect_like_reference({2, T, n, 4, 2, 16}, GetParam());
}

TEST_P(CachedAttentionOf, Windows) {
  for (const auto& [T, n] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 200}, {3, 200}, {70, 130}})
    for (const std::int64_t window : {1, 5, 31, 32, 33, 64, 129, 200}) {
      CachedPass pass({2, T, n, 4, 2, 8}, GetParam());
      pass.options.window = window;
      expect_like_reference(pass);
    }
}

TEST_P(CachedAttentionOf, SoftCaps) {
  for (const std::int64_t window : {0, 40})
    for (const float soft_cap : {2.0F, 50.0F}) {
      CachedPass pass({1, 3, 100, 4, 2, 16}, GetParam());
      pass.options = {.scale = 0.7F, .window = window, .soft_cap = soft_cap};
      expect_like_reference(pass);
    }
}

TEST_P(CachedAttentionOf, AWindowOfAllPositionsHasTheBitsOfNone) {
  const Sizes n{1, 3, 100, 4, 2, 16};
  CachedPass none(n, GetParam());
  none.run();
  for (const std::int64_t window : {100, 1000}) {
    CachedPass all(n, GetParam());
    all.options.window = window;
    all.run();
    EXPECT_EQ(all.out, none.out) << window;
  }
}

TEST_P(CachedAttentionOf, DoesNotReadPositionsBeforeTheWindow) {
  const Sizes n{1, 2, 300, 1, 1, 4};
  CachedPass pass(n, GetParam());
  pass.options.window = 40;
  with_type(GetParam(), [&]<class T>(Type<T>) {
    for (int i = 0; i < (n.n - 41) * 4; ++i)
      pass.k.tensor().as<T>()[i] = pass.v.tensor().as<T>()[i] = T(nan);
  });
  pass.run();
  for (const float x : pass.out.floats()) EXPECT_FALSE(std::isnan(x));
  pass.options.window = 41;
  pass.run();
  EXPECT_TRUE(std::isnan(pass.out.floats()[0]));
  EXPECT_FALSE(std::isnan(pass.out.floats()[4])) << "only the first query sees position 258";
}

// No time for positions before the window: they do not even move the edges of splits.
TEST(CachedAttention, AWindowHasTheBitsOfItsPositionsAlone) {
  const Shape queries{1, 1, 2, 16}, positions{1, 300, 2, 16};
  test::Array q = test::Array::random(DType::f32, queries.elements(), 1);
  test::Array k = test::Array::random(DType::f32, positions.elements(), 2);
  test::Array v = test::Array::random(DType::f32, positions.elements(), 3);
  const auto attend = [&](std::int64_t first, std::int64_t window) {
    test::Array out(DType::f32, queries.elements());
    test::Scratch scratch(cached_attention_scratch_bytes(queries, 300), MemorySpace::host);
    const auto from_first = [&](const Tensor& x) { return x.slice(1, first, 300 - first); };
    cached_attention(Stream(), out.tensor(queries), q.tensor(queries),
                     from_first(k.tensor(positions)), from_first(v.tensor(positions)),
                     {.window = window}, scratch.arena());
    return out;
  };
  EXPECT_EQ(attend(0, 100), attend(200, 0));
}

// With all positions as queries, the result is that of training's attention.
void expect_like_attention(const reference::AttentionLimits& limits, DType dtype) {
  CachedPass pass({1, 100, 100, 4, 2, 16}, dtype);
  pass.options.window = limits.window;
  pass.options.soft_cap = static_cast<float>(limits.soft_cap);
  pass.run();
  test::Array whole(dtype, pass.q.count());
  std::vector<float> lse(400);
  const Shape queries{1, 100, 4, 16}, keys{1, 100, 2, 16};
  test::Scratch scratch(attention_scratch_bytes(queries, dtype, test::space()));
  test::run(attention_forward, whole.tensor(queries), Tensor(lse.data(), {1, 4, 100}),
            pass.q.tensor(queries), pass.k.tensor(keys), pass.v.tensor(keys), pass.options,
            scratch.arena());
  test::expect_close(pass.out, whole.doubles(), tolerance + 4 * test::rounding_of(dtype), "out");
}

TEST_P(CachedAttentionOf, AgreesWithAttentionOfTheWhole) {
  expect_like_attention({}, GetParam());
  expect_like_attention({70, 3.0}, GetParam());
}

TEST_P(CachedAttentionOf, NotANumberIsNotHiddenAndNotSpread) {
  const Sizes n{1, 2, 66, 1, 1, 4};
  for (const bool in_keys : {true, false}) {
    CachedPass pass(n, GetParam());
    test::Array& spoilt = in_keys ? pass.k : pass.v;
    with_type(GetParam(), [&]<class T>(Type<T>) { spoilt.tensor().as<T>()[65 * 4] = T(nan); });
    pass.run();
    const std::vector<float> out = pass.out.floats();
    EXPECT_FALSE(std::isnan(out[0])) << "the first query does not see it";
    EXPECT_TRUE(std::isnan(out[4]));
  }
}

TEST_P(CachedAttentionOf, LargeScores) {  // nearly one-hot rows, beyond the range of exp
  const Sizes n{1, 1, 300, 1, 1, 4};
  CachedPass pass(n, GetParam());
  with_type(GetParam(), [&]<class T>(Type<T>) {
    for (int d = 0; d < 4; ++d) {
      pass.q.tensor().as<T>()[d] = T(100.0F);
      for (int j = 0; j < 300; ++j) pass.k.tensor().as<T>()[4 * j + d] = T(j == 137 ? 2.0F : 0.5F);
    }
  });
  pass.run();
  const std::vector<float> out = pass.out.floats(), values = pass.v.floats();
  for (std::size_t d = 0; d < 4; ++d) EXPECT_FLOAT_EQ(out[d], values[137 * 4 + d]);
}

TEST(CachedAttention, TheSameBitsOnAnyNumberOfThreads) {
  const Sizes n{2, 2, 500, 4, 2, 40};
  CachedPass one(n, DType::f32), several(n, DType::f32);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  one.run();
  omp_set_num_threads(3);
  several.run();
  omp_set_num_threads(threads);
  EXPECT_EQ(one.out, several.out);
}

TEST(CachedAttention, PartsCoverThePositions) {
  for (const std::int64_t n : {1L, 31L, 32L, 33L, 1024L, 2048L, 2049L, 100000L}) {
    const attention::CachedCut cut(n);
    EXPECT_GE(cut.parts * cut.part, n);
    EXPECT_LT((cut.parts - 1) * cut.part, n) << "no part is empty";
    EXPECT_LE(cut.parts, attention::CachedCut::most_parts);
    EXPECT_EQ(cut.part % attention::CachedCut::block, 0);
  }
}

TEST(CachedAttention, RefusesMoreQueriesThanPositions) {
  EXPECT_THROW(expect_like_reference({1, 3, 2, 1, 1, 4}, DType::f32), Error);
  EXPECT_THROW(expect_like_reference({1, 1, 2, 3, 2, 4}, DType::f32), Error);
}

TEST(CachedAttention, RefusesDropoutAndNegativeWindows) {
  CachedPass pass({1, 1, 2, 1, 1, 4}, DType::f32);
  pass.options.dropout.probability = 0.5F;
  EXPECT_THROW(pass.run(), Error);
  pass.options.dropout = {};
  pass.options.window = -1;
  EXPECT_THROW(pass.run(), Error);
}

}  // namespace
}  // namespace triax
