// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention.hpp"

#include <omp.h>

#include "tests/kernels/attention_oracle.hpp"

namespace triax {
namespace {

using reference::AttentionSizes;
using reference::Values;
using test::AttentionPass;
using test::expect_like_reference;
using test::expect_near;

class AttentionOf : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, AttentionOf, test::every_type());

TEST_P(AttentionOf, Lengths) {  // length 1, lengths around a tile, several tiles
  for (std::int64_t T : {1, 2, 5, 16, 63, 64, 65, 127, 128, 200})
    for (bool fused : {false, true}) {
      AttentionPass run({2, T, 2, 2, 16}, fused, GetParam());
      expect_like_reference(run);
    }
}

TEST_P(AttentionOf, HeadSizes) {
  for (std::int64_t D : {1, 2, 3, 7, 8, 15, 17, 33, 64, 80, 96, 128, 129, 256}) {
    AttentionPass run({1, 97, 2, 2, D}, GetParam());
    expect_like_reference(run);
  }
}

TEST_P(AttentionOf, GroupedQueryHeads) {
  for (const auto& [H, Hkv] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {4, 2}, {6, 2}, {5, 1}, {12, 4}}) {
    AttentionPass run({2, 70, H, Hkv, 24}, GetParam());
    expect_like_reference(run);
  }
}

TEST_P(AttentionOf,
       LargeScores) {  // nearly one-hot rows, and products beyond the range of exp
  AttentionPass run({1, 130, 2, 2, 32}, GetParam());
  run.options.scale = 20.0F;
  run.forward();
  const auto result =
      reference::attention_forward(run.n, test::to_double(run.q), test::to_double(run.k),
                                   test::to_double(run.v), run.options.scale, {});
  expect_near(run.out, result.out, 3e-4, "out");  // scores near 500 are known to 3e-5 in float32
  expect_near(run.lse, result.lse, 1e-6, "lse");
  run.backward();
  for (double x : test::to_double(run.dq)) ASSERT_TRUE(std::isfinite(x));
}

TEST_P(AttentionOf, NotANumberIsNotHidden) {
  AttentionPass run({1, 66, 1, 1, 16}, GetParam());
  with_type(GetParam(), [&]<class T>(Type<T>) {
    run.q.as<T>()[65 * run.q.stride(1)] = T(std::numeric_limits<float>::quiet_NaN());
  });
  run.forward();
  EXPECT_TRUE(std::isnan(test::to_double(run.out.slice(1, 65, 1))[0]));
  EXPECT_FALSE(std::isnan(test::to_double(run.out.slice(1, 64, 1))[0]));
}

TEST_P(AttentionOf, AnyScale) {
  for (float scale : {-0.3F, 0.0F, 1.0F}) {
    AttentionPass run({1, 70, 2, 2, 16}, GetParam());
    run.options.scale = scale;
    expect_like_reference(run);
  }
}

TEST_P(AttentionOf, TheSameBitsAgain) {
  AttentionPass first({2, 150, 4, 2, 40}, GetParam());
  AttentionPass second({2, 150, 4, 2, 40}, GetParam());
  for (AttentionPass* run : {&first, &second}) {
    run->forward();
    run->backward();
  }
  first.backward();  // overwrites what the first call wrote, instead of adding to it
  for (auto view : {&AttentionPass::out, &AttentionPass::lse, &AttentionPass::dq,
                    &AttentionPass::dk, &AttentionPass::dv})
    EXPECT_EQ(test::to_double(first.*view), test::to_double(second.*view));
}

// Everything that a pass has written.
Values written_by(const AttentionPass& pass) {
  Values all;
  for (const Tensor* x : {&pass.out, &pass.dq, &pass.dk, &pass.dv}) {
    const Values values = test::to_double(*x);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// Results of half a batch have the bits of the whole, whether samples and heads run together or
// slice by slice as the workspace allows. A GPU takes long sequences; the emulator is too slow for
// them.
TEST_P(AttentionOf, HalvesOfABatchHaveTheBitsOfTheWhole) {
  const bool gpu = test::on_a_gpu();
  const std::int64_t half = 2;
  AttentionPass pass({2 * half, gpu ? 4096 : 72, 12, 6, 64}, GetParam());
  pass.forward();
  pass.backward();
  const Values whole = written_by(pass);
  for (const std::int64_t first : {std::int64_t{0}, half}) {
    Arena arena(pass.scratch());
    const auto of = [&](const Tensor& x) { return x.slice(0, first, half); };
    test::run(attention_forward, of(pass.out), of(pass.lse), of(pass.q), of(pass.k), of(pass.v),
              pass.options, arena);
    test::run(attention_backward, of(pass.dq), of(pass.dk), of(pass.dv), of(pass.dout),
              of(pass.out), of(pass.lse), of(pass.q), of(pass.k), of(pass.v), pass.options, arena);
  }
  EXPECT_EQ(written_by(pass), whole);
}

TEST_P(AttentionOf, Dropout) {
  AttentionPass run({2, 100, 4, 2, 16}, GetParam());
  run.options.dropout = {.probability = 0.3F, .key = 42};
  run.options.first_batch = 3;
  run.options.first_head = 1;
  run.options.total_heads = 6;
  expect_like_reference(run);
}

// With an odd length, rows begin anywhere in a Philox counter block.
TEST_P(AttentionOf, DropoutOfOddLengths) {
  for (const std::int64_t head_size : {16, 72}) {
    AttentionPass run({2, 75, 4, 2, head_size}, GetParam());
    run.options.dropout = {.probability = 0.3F, .key = 42};
    run.options.total_heads = 4;
    expect_like_reference(run);
  }
}

TEST_P(AttentionOf, DropoutOfAHeadDoesNotDependOnWhoHasIt) {
  AttentionPass whole({1, 75, 4, 4, 16}, GetParam());
  whole.options.dropout = {.probability = 0.5F, .key = 9};
  whole.options.total_heads = 4;
  whole.forward();
  const Values expected = test::to_double(whole.out.slice(2, 2, 2));
  // The last two heads alone, as the second tensor-parallel rank has them.
  AttentionPass part({1, 75, 2, 2, 16}, GetParam());
  part.options = whole.options;
  part.options.first_head = 2;
  part.q = whole.q.slice(2, 2, 2);
  part.k = whole.k.slice(2, 2, 2);
  part.v = whole.v.slice(2, 2, 2);
  part.forward();
  EXPECT_EQ(test::to_double(part.out), expected);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  AttentionPass run({1, 8, 4, 4, 8});
  Arena arena;
  EXPECT_THROW(attention_forward(Stream(), run.out, run.lse, run.q, run.k.slice(2, 0, 3),
                                 run.v.slice(2, 0, 3), run.options, arena),
               Error);
  EXPECT_THROW(attention_forward(Stream(), run.out, run.lse, run.q, run.k, run.v.slice(1, 0, 4),
                                 run.options, arena),
               Error);
  AttentionPass narrow({1, 8, 4, 4, 8}, DType::bf16);
  EXPECT_THROW(
      attention_forward(Stream(), run.out, run.lse, narrow.q, run.k, run.v, run.options, arena),
      Error);
  test::Array narrow_lse(DType::bf16, 32);
  EXPECT_THROW(attention_forward(Stream(), narrow.out, narrow_lse.tensor({1, 4, 8}), narrow.q,
                                 narrow.k, narrow.v, narrow.options, arena),
               Error);
  run.options.dropout.probability = 0.5F;  // without total_heads
  EXPECT_THROW(run.forward(), Error);
  run.options.dropout = {};
  run.options.window = -1;
  EXPECT_THROW(run.forward(), Error);
  run.options.window = 0;
  run.options.soft_cap = -1.0F;
  EXPECT_THROW(run.backward(), Error);
}

TEST(AttentionScratch, IsForThreadsThatGetAHead) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(8);
  const auto bytes = [](std::int64_t heads) {
    return attention_scratch_bytes({1, 64, heads, 16}, DType::f32, MemorySpace::host);
  };
  EXPECT_LT(bytes(2), bytes(8) / 3);
  EXPECT_LT(bytes(16), bytes(8) * 9 / 8) << "no more than threads";
  omp_set_num_threads(threads);
}

}  // namespace
}  // namespace triax
