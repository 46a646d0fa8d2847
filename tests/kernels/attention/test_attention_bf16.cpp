// SPDX-License-Identifier: Apache-2.0
// Attention in bfloat16 by each kind of pair products that the processor has (AVX512-BF16, AMX),
// whether or not it is the fastest here. test_attention.cpp tests what the public functions choose.
#include <omp.h>

#include <optional>

#include "kernels/attention/pair_passes.hpp"
#include "kernels/matmul/tile_gemm_bf16.hpp"
#include "tests/kernels/attention_pass.hpp"
#include "tests/kernels/kind_of_code.hpp"

namespace triax {
namespace {

using reference::AttentionSizes;
using reference::Values;
using test::AttentionPass;

class PairAttention : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (best_isa() < GetParam())
      GTEST_SKIP() << "no " << text_of(GetParam()) << " on this processor, or no leave to use it";
    kind_.emplace(GetParam());
    if (!has_pair_products()) GTEST_SKIP() << "a build for a processor without AVX512-BF16";
  }

  static void pass(AttentionPass& run) {
    const AttentionSizes& n = run.n;
    const Buffer memory(
        attention_scratch_bytes({n.B, n.T, n.H, n.D}, DType::bf16, MemorySpace::host));
    const attention::Sizes sizes = attention::sizes_of(run.q, run.k, run.v, run.options);
    Arena forward(memory), backward(memory);
    ASSERT_TRUE(attention::pair_forward(sizes, run.out, run.lse, run.q, run.k, run.v, run.options,
                                        forward));
    ASSERT_TRUE(attention::pair_backward(sizes, run.dq, run.dk, run.dv, run.dout, run.out, run.lse,
                                         run.q, run.k, run.v, run.options, backward));
  }

  static void expect_near(const Tensor& actual, const Values& expected, double tolerance,
                          const char* name) {
    const Values got = test::to_double(actual);
    double largest = 1.0;
    for (const double e : expected) largest = std::max(largest, std::fabs(e));
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], tolerance * largest) << name << " element " << i;
  }

  // Within one rounding of a term and one of the sum.
  static void expect_like_reference(AttentionPass& run) {
    const AttentionSizes& n = run.n;
    SCOPED_TRACE(fmt::format("B {} T {} H {} Hkv {} D {} window {} soft cap {}", n.B, n.T, n.H,
                             n.Hkv, n.D, run.options.window, run.options.soft_cap));
    const double rounding = 2 * test::rounding_of(DType::bf16);
    const Values keep =
        run.options.dropout.probability > 0 ? test::keep_of(n, run.options) : Values{};
    const Values q = test::to_double(run.q), k = test::to_double(run.k), v = test::to_double(run.v);
    pass(run);
    auto result = reference::attention_forward(n, q, k, v, run.options.scale, keep,
                                               test::limits_of(run.options));
    expect_near(run.out, result.out, rounding, "out");
    expect_near(run.lse, result.lse, 1e-6, "lse");
    result.out = test::to_double(run.out);
    const auto gradients =
        reference::attention_backward(n, test::to_double(run.dout), result, q, k, v,
                                      run.options.scale, keep, test::limits_of(run.options));
    expect_near(run.dq, gradients.dq, rounding, "dq");
    expect_near(run.dk, gradients.dk, rounding, "dk");
    expect_near(run.dv, gradients.dv, rounding, "dv");
  }

 private:
  std::optional<test::KindOfCode> kind_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, PairAttention, testing::Values(Isa::avx512_bf16, Isa::avx512_amx),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST_P(PairAttention, Lengths) {
  for (std::int64_t T : {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 200, 256})
    for (bool fused : {false, true}) {
      AttentionPass run({2, T, 2, 2, 32}, fused, DType::bf16);
      expect_like_reference(run);
    }
}

TEST_P(PairAttention, HeadSizes) {
  for (std::int64_t D : {2, 8, 30, 32, 34, 64, 80, 96, 112, 128, 130, 256}) {
    AttentionPass run({1, 97, 2, 2, D}, DType::bf16);
    expect_like_reference(run);
  }
}

TEST_P(PairAttention, GroupedQueryHeads) {
  for (const auto& [H, Hkv] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 2}, {6, 2}, {5, 1}}) {
    AttentionPass run({2, 140, H, Hkv, 64}, DType::bf16);
    expect_like_reference(run);
  }
}

TEST_P(PairAttention, Dropout) {
  for (const std::int64_t T : {75, 160}) {
    AttentionPass run({2, T, 4, 2, 64}, DType::bf16);
    run.options.dropout = {.probability = 0.3F, .key = 42};
    run.options.total_heads = 4;
    expect_like_reference(run);
  }
}

TEST_P(PairAttention, Windows) {
  for (const std::int64_t window : {1, 5, 16, 63, 64, 65, 128, 129}) {
    AttentionPass run({1, 201, 4, 2, 32}, DType::bf16);
    run.options.window = window;
    expect_like_reference(run);
  }
}

TEST_P(PairAttention, SoftCaps) {
  for (const std::int64_t window : {0, 40})
    for (const float soft_cap : {2.0F, 50.0F}) {
      AttentionPass run({1, 130, 2, 2, 32}, DType::bf16);
      run.options.scale = 0.5F;
      run.options.window = window;
      run.options.soft_cap = soft_cap;
      expect_like_reference(run);
    }
}

TEST_P(PairAttention, AnyScale) {
  for (const float scale : {-0.3F, 0.0F, 1.0F}) {
    AttentionPass run({1, 130, 2, 2, 48}, DType::bf16);
    run.options.scale = scale;
    expect_like_reference(run);
  }
}

TEST_P(PairAttention, TheSameBitsOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  std::vector<std::vector<Values>> results;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    AttentionPass run({2, 150, 4, 2, 64}, DType::bf16);
    pass(run);
    results.emplace_back();
    for (const auto view : {&AttentionPass::out, &AttentionPass::lse, &AttentionPass::dq,
                            &AttentionPass::dk, &AttentionPass::dv})
      results.back().push_back(test::to_double(run.*view));
  }
  omp_set_num_threads(before);
  EXPECT_EQ(results[1], results[0]);
  EXPECT_EQ(results[2], results[0]);
}

// Odd head sizes cannot be multiplied in pairs and are left to the general code.
TEST_P(PairAttention, LeavesOddHeads) {
  AttentionPass run({1, 40, 2, 2, 33}, DType::bf16);
  Arena arena;
  EXPECT_FALSE(attention::pair_forward(attention::sizes_of(run.q, run.k, run.v, run.options),
                                       run.out, run.lse, run.q, run.k, run.v, run.options, arena));
}

}  // namespace
}  // namespace triax
