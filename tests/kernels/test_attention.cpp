#include "kernels/attention.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "kernels/random.hpp"
#include "kernels/reference/attention.hpp"
#include "kernels/tile_gemm_bf16.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

using reference::AttentionSizes;
using reference::Values;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// One call of each direction with inputs of its own. Keys, queries and values are slices of one
// matrix (fused), or tensors of their own; so are their gradients.
class Pass {
 public:
  explicit Pass(const AttentionSizes& sizes, bool fused = true, DType dtype = DType::f32)
      : n(sizes),
        inputs_(dtype, test::random_values(qkv_elements(), 7)),
        gradients_(dtype, qkv_elements(), nan),
        out_(dtype, head_elements(), nan),
        dout_(dtype, test::random_values(head_elements(), 8)),
        lse_(at(n.B * n.T * n.H), nan),
        scratch_(attention_scratch_bytes({n.B, n.T, n.H, n.D}), test::space()) {
    std::tie(q, k, v) = split(inputs_, fused);
    std::tie(dq, dk, dv) = split(gradients_, fused);
    out = out_.tensor({n.B, n.T, n.H, n.D});
    dout = dout_.tensor(out.shape());
    lse = Tensor(lse_.data(), {n.B, n.H, n.T});
    options.scale = 1.0F / std::sqrt(static_cast<float>(n.D));
    spoil_scratch();
  }
  Pass(const AttentionSizes& sizes, DType dtype) : Pass(sizes, true, dtype) {}

  void forward() {
    Arena arena(scratch_);
    test::run(attention_forward, out, lse, q, k, v, options, arena);
    EXPECT_EQ(arena.used(), 0U);
  }
  void backward() {
    Arena arena(scratch_);
    test::run(attention_backward, dq, dk, dv, dout, out, lse, q, k, v, options, arena);
    EXPECT_EQ(arena.used(), 0U);
  }

  AttentionSizes n;
  AttentionOptions options;
  Tensor q, k, v, dq, dk, dv, out, dout, lse;

 private:
  // What is not written shows as NaN; so would scratch memory that is read before it is written.
  static constexpr float nan = std::numeric_limits<float>::quiet_NaN();

  std::int64_t head_elements() const { return n.B * n.T * n.H * n.D; }
  std::int64_t qkv_elements() const { return n.B * n.T * (n.H + 2 * n.Hkv) * n.D; }

  std::tuple<Tensor, Tensor, Tensor> split(test::Array& memory, bool fused) const {
    if (fused) {
      const Tensor whole = memory.tensor({n.B, n.T, n.H + 2 * n.Hkv, n.D});
      return {whole.slice(2, 0, n.H), whole.slice(2, n.H, n.Hkv),
              whole.slice(2, n.H + n.Hkv, n.Hkv)};
    }
    const std::int64_t keys = n.B * n.T * n.Hkv * n.D;
    const auto part = [&](std::int64_t first, std::int64_t count, std::int64_t heads) {
      return memory.tensor().slice(0, first, count).reshape({n.B, n.T, heads, n.D});
    };
    return {part(0, head_elements(), n.H), part(head_elements(), keys, n.Hkv),
            part(head_elements() + keys, keys, n.Hkv)};
  }

  void spoil_scratch() {
    const auto count = static_cast<std::int64_t>(scratch_.bytes() / sizeof(float));
    std::vector<float> values(at(count), nan);
    const Stream stream(test::space());
    copy(stream, scratch_.tensor(DType::f32, {count}), Tensor(values.data(), {count}));
    stream.synchronize();
  }

  test::Array inputs_, gradients_, out_, dout_;
  std::vector<float> lse_;
  Buffer scratch_;
};

// The multipliers that the dropout options stand for, from the definition in kernels/dropout.hpp.
Values keep_of(const AttentionSizes& n, const AttentionOptions& options) {
  Values keep;
  for (std::int64_t b = 0; b < n.B; ++b)
    for (std::int64_t h = 0; h < n.H; ++h)
      for (std::int64_t i = 0; i < n.T; ++i)
        for (std::int64_t j = 0; j < n.T; ++j) {
          const std::int64_t head =
              (options.first_batch + b) * options.total_heads + options.first_head + h;
          const auto index = static_cast<std::uint64_t>((head * n.T + i) * n.T + j);
          const bool kept = uniform_from(philox(options.dropout.key, index / 4)[index % 4]) >=
                            options.dropout.probability;
          keep.push_back(kept ? 1.0 / (1.0 - double{options.dropout.probability}) : 0.0);
        }
  return keep;
}

// What the terms of a sum may be off by: tensor cores, and processors with products of pairs of
// bfloat16, take probabilities and gradients of scores rounded to 16 bits. (lse is a float32, and
// so is all that it is made of.)
double rounding_of_terms(DType dtype) {
  const bool pairs = dtype == DType::bf16 && has_pair_products();
  return pairs || test::space() == MemorySpace::device ? test::rounding_of(dtype) : 0.0;
}

// Every element within `tolerance` of the largest, and one rounding to its type.
void expect_near(const Tensor& actual, const Values& expected, double tolerance, const char* name) {
  const Values got = test::to_double(actual);
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0;
  for (double e : expected) largest = std::max(largest, std::fabs(e));
  const double rounding = test::rounding_of(actual.dtype());
  tolerance += rounding_of_terms(actual.dtype());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i],
                tolerance * std::max(largest, 1.0) + rounding * std::fabs(expected[i]))
        << name << " element " << i;
}

void expect_like_reference(Pass& run) {
  const AttentionSizes& n = run.n;
  SCOPED_TRACE(fmt::format("B {} T {} H {} Hkv {} D {} {}", n.B, n.T, n.H, n.Hkv, n.D,
                           name_of(run.q.dtype())));
  const Values keep = run.options.dropout.probability > 0 ? keep_of(n, run.options) : Values{};
  const Values q = test::to_double(run.q);
  const Values k = test::to_double(run.k);
  const Values v = test::to_double(run.v);
  const double scale = run.options.scale;
  run.forward();
  auto result = reference::attention_forward(n, q, k, v, scale, keep);
  expect_near(run.out, result.out, 1e-6, "out");
  expect_near(run.lse, result.lse, 1e-6, "lse");
  result.out = test::to_double(run.out);  // rounded, as the backward pass has it
  run.backward();
  const auto gradients =
      reference::attention_backward(n, test::to_double(run.dout), result, q, k, v, scale, keep);
  expect_near(run.dq, gradients.dq, 2e-6, "dq");
  expect_near(run.dk, gradients.dk, 2e-6, "dk");
  expect_near(run.dv, gradients.dv, 2e-6, "dv");
}

class AttentionOf : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, AttentionOf, test::every_type());

TEST_P(AttentionOf, Lengths) {  // one, around the tile's edges, several tiles
  for (std::int64_t T : {1, 2, 5, 16, 63, 64, 65, 127, 128, 200})
    for (bool fused : {false, true}) {
      Pass run({2, T, 2, 2, 16}, fused, GetParam());
      expect_like_reference(run);
    }
}

TEST_P(AttentionOf, HeadSizes) {
  for (std::int64_t D : {1, 2, 3, 7, 8, 15, 17, 33, 64, 80, 96, 128, 129, 256}) {
    Pass run({1, 97, 2, 2, D}, GetParam());
    expect_like_reference(run);
  }
}

TEST_P(AttentionOf, GroupedQueryHeads) {
  for (const auto& [H, Hkv] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {4, 2}, {6, 2}, {5, 1}, {12, 4}}) {
    Pass run({2, 70, H, Hkv, 24}, GetParam());
    expect_like_reference(run);
  }
}

TEST_P(AttentionOf,
       LargeScores) {  // rows that are nearly one-hot, and products beyond what exp can hold
  Pass run({1, 130, 2, 2, 32}, GetParam());
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
  Pass run({1, 66, 1, 1, 16}, GetParam());
  with_type(GetParam(), [&]<class T>(Type<T>) {
    run.q.as<T>()[65 * run.q.stride(1)] = T(std::numeric_limits<float>::quiet_NaN());
  });
  run.forward();
  EXPECT_TRUE(std::isnan(test::to_double(run.out.slice(1, 65, 1))[0]));
  EXPECT_FALSE(std::isnan(test::to_double(run.out.slice(1, 64, 1))[0]));
}

TEST_P(AttentionOf, AnyScale) {
  for (float scale : {-0.3F, 0.0F, 1.0F}) {
    Pass run({1, 70, 2, 2, 16}, GetParam());
    run.options.scale = scale;
    expect_like_reference(run);
  }
}

TEST_P(AttentionOf, TheSameBitsAgain) {
  Pass first({2, 150, 4, 2, 40}, GetParam());
  Pass second({2, 150, 4, 2, 40}, GetParam());
  for (Pass* run : {&first, &second}) {
    run->forward();
    run->backward();
  }
  first.backward();  // overwrites, and does not add to, what the first call wrote
  for (auto view : {&Pass::out, &Pass::lse, &Pass::dq, &Pass::dk, &Pass::dv})
    EXPECT_EQ(test::to_double(first.*view), test::to_double(second.*view));
}

TEST_P(AttentionOf, Dropout) {
  Pass run({2, 100, 4, 2, 16}, GetParam());
  run.options.dropout = {.probability = 0.3F, .key = 42};
  run.options.first_batch = 3;
  run.options.first_head = 1;
  run.options.total_heads = 6;
  expect_like_reference(run);
}

// Rows of words begin anywhere in a block of the generator.
TEST_P(AttentionOf, DropoutOfOddLengths) {
  for (const std::int64_t head_size : {16, 72}) {
    Pass run({2, 75, 4, 2, head_size}, GetParam());
    run.options.dropout = {.probability = 0.3F, .key = 42};
    run.options.total_heads = 4;
    expect_like_reference(run);
  }
}

TEST_P(AttentionOf, DropoutOfAHeadDoesNotDependOnWhoHasIt) {
  Pass whole({1, 75, 4, 4, 16}, GetParam());
  whole.options.dropout = {.probability = 0.5F, .key = 9};
  whole.options.total_heads = 4;
  whole.forward();
  const Values expected = test::to_double(whole.out.slice(2, 2, 2));
  // The two last heads alone, as a second tensor rank has them.
  Pass part({1, 75, 2, 2, 16}, GetParam());
  part.options = whole.options;
  part.options.first_head = 2;
  part.q = whole.q.slice(2, 2, 2);
  part.k = whole.k.slice(2, 2, 2);
  part.v = whole.v.slice(2, 2, 2);
  part.forward();
  EXPECT_EQ(test::to_double(part.out), expected);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  Pass run({1, 8, 4, 4, 8});
  Arena arena;
  EXPECT_THROW(attention_forward(Stream(), run.out, run.lse, run.q, run.k.slice(2, 0, 3),
                                 run.v.slice(2, 0, 3), run.options, arena),
               Error);
  EXPECT_THROW(attention_forward(Stream(), run.out, run.lse, run.q, run.k, run.v.slice(1, 0, 4),
                                 run.options, arena),
               Error);
  Pass narrow({1, 8, 4, 4, 8}, DType::bf16);
  EXPECT_THROW(
      attention_forward(Stream(), run.out, run.lse, narrow.q, run.k, run.v, run.options, arena),
      Error);
  test::Array narrow_lse(DType::bf16, 32);
  EXPECT_THROW(attention_forward(Stream(), narrow.out, narrow_lse.tensor({1, 4, 8}), narrow.q,
                                 narrow.k, narrow.v, narrow.options, arena),
               Error);
  run.options.dropout.probability = 0.5F;  // and no total_heads
  EXPECT_THROW(run.forward(), Error);
}

// The oracle's gradients against central differences of its forward pass.
TEST(ReferenceAttention, FiniteDifferences) {
  const AttentionSizes n{1, 5, 2, 1, 3};
  AttentionOptions options;
  options.dropout = {.probability = 0.4F, .key = 5};
  options.total_heads = n.H;
  const Pass run(n);
  Values inputs[3] = {test::to_double(run.q), test::to_double(run.k), test::to_double(run.v)};
  const Values dout = test::to_double(run.dout);
  for (const Values& keep : {Values{}, keep_of(n, options)}) {
    const auto forward = [&] {
      return reference::attention_forward(n, inputs[0], inputs[1], inputs[2], 0.7, keep);
    };
    const auto g = reference::attention_backward(n, dout, forward(), inputs[0], inputs[1],
                                                 inputs[2], 0.7, keep);
    const Values* gradients[3] = {&g.dq, &g.dk, &g.dv};
    for (int input = 0; input < 3; ++input)
      for (std::size_t i = 0; i < inputs[input].size(); ++i) {
        constexpr double step = 1e-5;
        const double value = inputs[input][i];
        const auto loss = [&](double x) {
          inputs[input][i] = x;
          const Values out = forward().out;
          return reference::dot(out.data(), dout.data(), static_cast<std::int64_t>(out.size()));
        };
        const double slope = (loss(value + step) - loss(value - step)) / (2 * step);
        inputs[input][i] = value;
        EXPECT_NEAR((*gradients[input])[i], slope, 1e-8) << "input " << input << " element " << i;
      }
  }
}

TEST(AttentionScratch, IsForThreadsThatGetAHead) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(8);
  const auto bytes = [](std::int64_t heads) { return attention_scratch_bytes({1, 64, heads, 16}); };
  EXPECT_LT(bytes(2), bytes(8) / 3);
  EXPECT_LT(bytes(16), bytes(8) * 9 / 8) << "no more than threads";
  omp_set_num_threads(threads);
}

}  // namespace
}  // namespace triax
