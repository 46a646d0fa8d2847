// SPDX-License-Identifier: Apache-2.0
// Sliding windows and soft caps of attention.hpp.
#include "kernels/attention/attention.hpp"
#include "tests/kernels/attention_oracle.hpp"

namespace triax {
namespace {

using reference::Values;
using test::AttentionPass;
using test::expect_like_reference;

class AttentionLimitsOf : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, AttentionLimitsOf, test::every_type());

TEST_P(AttentionLimitsOf, Windows) {  // within a tile, around one, several tiles, all keys
  for (const std::int64_t T : {5, 64, 65, 200})
    for (const std::int64_t window : {1, 5, 16, 63, 64, 65, 128, 130, 199, 200, 1000})
      if (window <= T || window == 1000) {
        AttentionPass run({1, T, 2, 2, 16}, T != 65, GetParam());
        run.options.window = window;
        expect_like_reference(run);
      }
}

TEST_P(AttentionLimitsOf, WindowsOfGroupedHeadsOfAnySize) {
  for (const std::int64_t D : {1, 17, 64, 80}) {
    AttentionPass run({2, 150, 6, 2, D}, GetParam());
    run.options.window = 70;
    expect_like_reference(run);
  }
}

TEST_P(AttentionLimitsOf, WindowsWithDropout) {
  for (const std::int64_t window : {3, 64, 75}) {
    AttentionPass run({2, 141, 4, 2, 16}, GetParam());
    run.options.window = window;
    run.options.dropout = {.probability = 0.3F, .key = 42};
    run.options.total_heads = 4;
    expect_like_reference(run);
  }
}

TEST_P(AttentionLimitsOf, SoftCaps) {  // 2 bends nearly every score, 50 hardly any
  for (const float soft_cap : {2.0F, 50.0F})
    for (const std::int64_t window : {0, 5, 70})
      for (const float dropout : {0.0F, 0.3F}) {
        AttentionPass run({1, 141, 4, 2, 16}, GetParam());
        run.options.window = window;
        run.options.soft_cap = soft_cap;
        run.options.dropout = {.probability = dropout, .key = 42};
        run.options.total_heads = 4;
        expect_like_reference(run);
      }
}

TEST_P(AttentionLimitsOf, SoftCapsOfLargeScores) {  // most scores become the cap
  AttentionPass run({1, 130, 2, 2, 32}, GetParam());
  run.options.scale = 20.0F;
  run.options.soft_cap = 5.0F;
  run.forward();
  const auto result =
      reference::attention_forward(run.n, test::to_double(run.q), test::to_double(run.k),
                                   test::to_double(run.v), 20.0, {}, test::limits_of(run.options));
  test::expect_near(run.out, result.out, 3e-5, "out");  // scores before the cap are known to 3e-5
  test::expect_near(run.lse, result.lse, 3e-5, "lse");
  run.backward();
  for (const double x : test::to_double(run.dq)) ASSERT_TRUE(std::isfinite(x));
}

// Everything that both passes write.
std::vector<Values> written_by(AttentionPass& pass) {
  pass.forward();
  pass.backward();
  std::vector<Values> all;
  for (const Tensor* x : {&pass.out, &pass.lse, &pass.dq, &pass.dk, &pass.dv})
    all.push_back(test::to_double(*x));
  return all;
}

TEST_P(AttentionLimitsOf, AWindowOfAllKeysHasTheBitsOfNone) {
  for (const float soft_cap : {0.0F, 4.0F}) {
    const auto with_window = [&](std::int64_t window) {
      AttentionPass run({1, 150, 4, 2, 24}, GetParam());
      run.options.window = window;
      run.options.soft_cap = soft_cap;
      return written_by(run);
    };
    const auto none = with_window(0);
    EXPECT_EQ(with_window(150), none);
    EXPECT_EQ(with_window(5000), none);
    EXPECT_NE(with_window(149), none);
  }
}

// Rows of tiles that see nothing of spoilt keys and values have the bits that they have without.
TEST_P(AttentionLimitsOf, SkipsKeysFarFromTheWindow) {
  const std::int64_t spoilt = 64, clean = 192, T = 300;
  const auto results = [&](bool spoil) {
    AttentionPass run({1, T, 2, 2, 16}, false, GetParam());
    run.options.window = 20;
    with_type(GetParam(), [&]<class E>(Type<E>) {
      for (std::int64_t i = 0; spoil && i < spoilt * run.k.stride(1); ++i)
        run.k.as<E>()[i] = run.v.as<E>()[i] = E(std::numeric_limits<float>::quiet_NaN());
    });
    run.forward();
    run.backward();
    std::vector<Values> rows;
    for (const Tensor* x : {&run.out, &run.dq, &run.dk, &run.dv})
      rows.push_back(test::to_double(x->slice(1, clean, T - clean)));
    return rows;
  };
  EXPECT_EQ(results(true), results(false));
}

}  // namespace
}  // namespace triax
