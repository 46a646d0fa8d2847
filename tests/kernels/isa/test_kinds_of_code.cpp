// SPDX-License-Identifier: Apache-2.0
// The program's ISA levels (kernels/isa/isa.hpp) give the same bits: sums have the same order
// whatever the width of vectors.
#include <gtest/gtest.h>

#include <functional>

#include "kernels/activation/elementwise.hpp"
#include "kernels/activation/geglu.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/activation/swiglu.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/cached_attention.hpp"
#include "kernels/attention/rope.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/soft_cap.hpp"
#include "kernels/norm/layernorm.hpp"
#include "kernels/norm/qk_norm.hpp"
#include "kernels/norm/rmsnorm.hpp"
#include "kernels/optimizer/adagrad.hpp"
#include "kernels/optimizer/adamw.hpp"
#include "kernels/optimizer/grad_norm.hpp"
#include "kernels/optimizer/lion.hpp"
#include "kernels/optimizer/quantized/adamw_8bit.hpp"
#include "kernels/optimizer/sgd.hpp"
#include "kernels/random/dropout.hpp"
#include "kernels/random/random.hpp"
#include "kernels/reference/rope.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/kind_of_code.hpp"

namespace triax {
namespace {

constexpr std::int64_t rows = 71;      // odd, and not a multiple of rows_per_block
constexpr std::int64_t columns = 108;  // not a multiple of any vector's width

using test::Array;
using Results = std::vector<Array>;

class KindsOfCode : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (best_isa() == Isa::avx2) GTEST_SKIP() << "a processor with one kind of code";
  }
  DType dtype = GetParam();
  Stream stream;

  Array random(unsigned seed, std::int64_t count = rows * columns) {
    return Array::random(dtype, count, seed);
  }
  Array empty(std::int64_t count = rows * columns) { return Array(dtype, count); }

  static Results results(Isa isa, const std::function<Results()>& call) {
    const test::KindOfCode kind(isa);
    return call();
  }
  // `call` returns the same bits with AVX2 and with AVX-512.
  static void expect_same(const std::function<Results()>& call) {
    const Results narrow = results(Isa::avx2, call), wide = results(Isa::avx512, call);
    ASSERT_EQ(narrow.size(), wide.size());
    ASSERT_FALSE(narrow.empty());
    for (std::size_t i = 0; i < narrow.size(); ++i) EXPECT_TRUE(narrow[i] == wide[i]) << i;
  }
  static Tensor matrix(Array& array) { return array.tensor({rows, columns}); }
};

TEST_P(KindsOfCode, Activations) {
  expect_same([&] {
    Array x = random(1), dy = random(2), y = empty(), dx = empty(), again = empty();
    gelu_forward(stream, y.tensor(), x.tensor());
    gelu_backward(stream, dx.tensor(), again.tensor(), dy.tensor(), x.tensor());
    Array wide = random(3, 2 * rows * columns), dwide = empty(2 * rows * columns), z = empty();
    swiglu_forward(stream, matrix(z), wide.tensor({rows, 2 * columns}));
    swiglu_backward(stream, dwide.tensor({rows, 2 * columns}), matrix(again), matrix(dy),
                    wide.tensor({rows, 2 * columns}));
    return Results{y, dx, z, again, dwide};
  });
}

TEST_P(KindsOfCode, ExactGeluAndGeglu) {
  expect_same([&] {
    Array x = random(1), dy = random(2), y = empty(), dx = empty(), again = empty();
    gelu_forward(stream, y.tensor(), x.tensor(), Gelu::erf);
    gelu_backward(stream, dx.tensor(), again.tensor(), dy.tensor(), x.tensor(), Gelu::erf);
    Array wide = random(3, 2 * rows * columns), dwide = empty(2 * rows * columns), z = empty();
    geglu_forward(stream, matrix(z), wide.tensor({rows, 2 * columns}));
    geglu_backward(stream, dwide.tensor({rows, 2 * columns}), matrix(again), matrix(dy),
                   wide.tensor({rows, 2 * columns}));
    return Results{y, dx, z, again, dwide};
  });
}

TEST_P(KindsOfCode, QkNorm) {
  constexpr std::int64_t groups = 3, head = columns / groups;
  const Shape heads = {rows, groups, head}, of_heads = {rows, groups};
  expect_same([&] {
    Array x = random(1), dy = random(2), weight = random(3, head), y = empty(), dx = empty();
    Array sums(DType::f32, rows * groups), dots = sums, dweight = empty(head);
    test::Scratch scratch(qk_norm_scratch_bytes(rows, groups, head), MemorySpace::host);
    qk_norm_sums(stream, sums.tensor(of_heads), x.tensor(heads));
    qk_norm_forward(stream, y.tensor(heads), x.tensor(heads), weight.tensor(),
                    sums.tensor(of_heads), head, 1e-5F, 1.0F);
    qk_norm_gradient_sums(stream, dots.tensor(of_heads), dy.tensor(heads), x.tensor(heads),
                          weight.tensor(), 1.0F);
    qk_norm_backward(stream, dx.tensor(heads), dweight.tensor(), dy.tensor(heads), x.tensor(heads),
                     weight.tensor(), sums.tensor(of_heads), dots.tensor(of_heads), head, 1e-5F,
                     1.0F, false, scratch.arena());
    return Results{sums, y, dots, dx, dweight};
  });
}

TEST_P(KindsOfCode, Norms) {
  expect_same([&] {
    Array x = random(1), dy = random(2), weight = random(3, columns), bias = random(4, columns);
    Array residual = random(5);
    Array y = empty(), dx = empty(), dweight = empty(columns), dbias = empty(columns);
    layernorm_forward(stream, matrix(y), matrix(x), weight.tensor(), bias.tensor(), 1e-5F);
    test::Scratch scratch(layernorm_scratch_bytes(rows, columns), MemorySpace::host);
    layernorm_backward(stream, matrix(dx), dweight.tensor(), dbias.tensor(), matrix(dy),
                       matrix(residual), matrix(x), weight.tensor(), 1e-5F, false, scratch.arena());
    Array z = empty(), dz = empty(), dother = empty(columns);
    rmsnorm_forward(stream, matrix(z), matrix(x), weight.tensor(), 1e-5F);
    rmsnorm_backward(stream, matrix(dz), dother.tensor(), matrix(dy), matrix(residual), matrix(x),
                     weight.tensor(), 1e-5F, false, scratch.arena());
    return Results{y, dx, dweight, dbias, z, dz, dother};
  });
}

TEST_P(KindsOfCode, LossAndGradientNorm) {
  std::vector<std::int32_t> ids(rows);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
  const Tensor labels(ids.data(), {rows});
  expect_same([&] {
    Array logits = random(1), stats(DType::f32, 3 * rows), lse(DType::f32, rows);
    Array loss(DType::f32, rows);
    double squares = 0.0;
    cross_entropy_stats(stream, stats.tensor({rows, 3}), matrix(logits), labels, 0, columns);
    cross_entropy_loss(stream, loss.tensor(), lse.tensor(), stats.tensor({1, rows, 3}), labels);
    cross_entropy_backward(stream, matrix(logits), lse.tensor(), labels, 0, columns, 0.25F);
    add_sum_of_squares(stream, Tensor(&squares, {1}), logits.tensor());
    Array total(DType::f32, 1, static_cast<float>(squares));
    Array whole = random(2), of_whole(DType::f32, rows);
    cross_entropy(stream, of_whole.tensor(), matrix(whole), labels, columns, 0.25F);
    return Results{stats, lse, loss, logits, total, whole, of_whole};
  });
}

// Rows that span several chunks, each with an incomplete last group of vectors.
TEST_P(KindsOfCode, LossOfALargeVocabulary) {
  constexpr std::int64_t few = 3, vocabulary = 8192 + 2 * 2048 + 203;
  std::vector<std::int32_t> ids = {5, 9000, vocabulary - 1};
  const Tensor labels(ids.data(), {few});
  expect_same([&] {
    Array logits = random(1, few * vocabulary), loss(DType::f32, few);
    cross_entropy(stream, loss.tensor(), logits.tensor({few, vocabulary}), labels, vocabulary,
                  0.25F);
    Array capped = random(2, few * vocabulary), of_capped(DType::f32, few);
    cross_entropy(stream, of_capped.tensor(), capped.tensor({few, vocabulary}), labels, vocabulary,
                  0.25F, {.soft_cap = 3.0F, .z_coefficient = 0.1F});
    Array alone = random(3, few * vocabulary);
    soft_cap(stream, alone.tensor({few, vocabulary}), 2.0F);
    return Results{loss, logits, capped, of_capped, alone};
  });
}

TEST_P(KindsOfCode, Rope) {
  constexpr std::int64_t length = 17, heads = 4, size = 36;
  Array table(DType::f32, length * size);
  rope_table(stream, table.tensor({2, length, size / 2}),
             reference::rope_frequencies(10'000.0, size));
  expect_same([&] {
    Array x = random(1, length * heads * size);
    rope_forward(stream, x.tensor({1, length, heads, size}), table.tensor({2, length, size / 2}));
    return Results{x};
  });
}

TEST_P(KindsOfCode, Updates) {
  expect_same([&] {
    const std::int64_t n = rows * columns;
    Array p = Array::random(DType::f32, n, 1), m = Array::random(DType::f32, n, 2, 0.1F);
    Array v = Array(DType::f32, n, 0.01F), gradient = random(3), weights = empty();
    Array factor(DType::f32, 1, 0.5F);
    for (std::int64_t step = 1; step <= 3; ++step)
      adamw(stream, p.tensor(), dtype == DType::f32 ? Tensor() : weights.tensor(),
            gradient.tensor(), factor.tensor(), m.tensor(), v.tensor(),
            {.weight_decay = 0.1, .step = step});
    return Results{p, m, v, weights};
  });
}

TEST_P(KindsOfCode, UpdatesOfPackedMoments) {
  expect_same([&] {
    const std::int64_t n = rows * columns, words = packed_bytes(n) / 4;
    Array p = Array::random(DType::f32, n, 1), gradient = random(3), weights = empty();
    Array factor(DType::f32, 1, 0.5F), m(DType::f32, words), v(DType::f32, words);
    const auto cells = [&](Array& of) {
      return Tensor(of.tensor().data(), DType::u8, {packed_bytes(n)});
    };
    for (std::int64_t step = 1; step <= 3; ++step)
      adamw_8bit(stream, p.tensor(), dtype == DType::f32 ? Tensor() : weights.tensor(),
                 gradient.tensor(), factor.tensor(), cells(m), cells(v),
                 {.weight_decay = 0.1, .step = step});
    Array wide(DType::f32, n), squares(DType::f32, n);
    unpack_state(stream, wide.tensor(), cells(m), 0, CodeMap::signs);
    unpack_state(stream, squares.tensor(), cells(v), 0, CodeMap::positive);
    return Results{p, wide, squares, weights};
  });
}

TEST_P(KindsOfCode, UpdatesOfOtherOptimizers) {
  const auto expect_same_update = [&](auto kernel, const auto& options) {
    expect_same([&] {
      const std::int64_t n = rows * columns;
      Array p = Array::random(DType::f32, n, 1), state = Array(DType::f32, n, 0.01F);
      Array gradient = random(3), weights = empty(), factor(DType::f32, 1, 0.5F);
      for (int step = 0; step < 3; ++step)
        kernel(stream, p.tensor(), dtype == DType::f32 ? Tensor() : weights.tensor(),
               gradient.tensor(), factor.tensor(), state.tensor(), options);
      return Results{p, state, weights};
    });
  };
  expect_same_update(adagrad, AdagradOptions{.weight_decay = 0.1});
  expect_same_update(lion, LionOptions{.weight_decay = 0.1});
  expect_same_update(sgd, SgdOptions{.weight_decay = 0.1});
  expect_same_update(sgd, SgdOptions{.momentum = 0.9, .nesterov = true});
}

TEST_P(KindsOfCode, Elements) {
  expect_same([&] {
    Array x = random(1), y = empty(), z = empty(), made = empty(), bias = random(2, columns);
    dropout(stream, y.tensor(), x.tensor(), {.probability = 0.3F, .key = 7}, 5);
    residual_forward(stream, matrix(z), matrix(x), matrix(y), bias.tensor());
    fill_normal(stream, made.tensor(), 11, 3, 0.0F, 1.0F);
    Array sums(DType::f32, columns);
    test::Scratch scratch(bias_backward_scratch_bytes(rows, columns), MemorySpace::host);
    bias_backward(stream, sums.tensor(), matrix(x), false, scratch.arena());
    return Results{y, z, made, sums};
  });
}

TEST_P(KindsOfCode, Attention) {
  constexpr std::int64_t batch = 2, length = 150, heads = 3, size = 40;
  constexpr std::int64_t count = batch * length * heads * size;
  const auto results = [&](std::int64_t window, float soft_cap) {
    const Shape shape = {batch, length, heads, size};
    Array q = random(1, count), k = random(2, count), v = random(3, count), dout = random(4, count);
    Array out = empty(count), lse(DType::f32, batch * heads * length);
    Array dq = empty(count), dk = empty(count), dv = empty(count);
    test::Scratch scratch(attention_scratch_bytes(shape, DType::f32, MemorySpace::host),
                          MemorySpace::host);
    const AttentionOptions options{.scale = 0.2F,
                                   .window = window,
                                   .soft_cap = soft_cap,
                                   .dropout = {.probability = 0.3F, .key = 7},
                                   .total_heads = heads};
    attention_forward(stream, out.tensor(shape), lse.tensor({batch, heads, length}),
                      q.tensor(shape), k.tensor(shape), v.tensor(shape), options, scratch.arena());
    attention_backward(stream, dq.tensor(shape), dk.tensor(shape), dv.tensor(shape),
                       dout.tensor(shape), out.tensor(shape), lse.tensor({batch, heads, length}),
                       q.tensor(shape), k.tensor(shape), v.tensor(shape), options, scratch.arena());
    return Results{out, lse, dq, dk, dv};
  };
  for (const std::int64_t window : {0, 70})
    for (const float soft_cap : {0.0F, 3.0F})
      expect_same([&] { return results(window, soft_cap); });
}

TEST_P(KindsOfCode, CachedAttention) {
  const Shape queries{1, 2, 4, 40}, keys{1, 150, 2, 40};
  expect_same([&] {
    Array q = random(1, queries.elements()), out = empty(queries.elements());
    Array k = random(2, keys.elements()), v = random(3, keys.elements());
    test::Scratch scratch(cached_attention_scratch_bytes(queries, 150), MemorySpace::host);
    cached_attention(stream, out.tensor(queries), q.tensor(queries), k.tensor(keys), v.tensor(keys),
                     {.scale = 0.2F, .window = 70, .soft_cap = 3.0F}, scratch.arena());
    return Results{out};
  });
}

INSTANTIATE_TEST_SUITE_P(Types, KindsOfCode, test::every_type());

}  // namespace
}  // namespace triax
