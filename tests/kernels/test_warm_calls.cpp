// SPDX-License-Identifier: Apache-2.0
// No kernel allocates once it has run, so that a training step does not depend on the allocator.
#include <gtest/gtest.h>

#include <functional>

#include "kernels/activation/elementwise.hpp"
#include "kernels/activation/geglu.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/activation/swiglu.hpp"
#include "kernels/attention/cached_attention.hpp"
#include "kernels/attention/rope.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/soft_cap.hpp"
#include "kernels/norm/layernorm.hpp"
#include "kernels/norm/qk_norm.hpp"
#include "kernels/norm/rmsnorm.hpp"
#include "kernels/optimizer/adamw.hpp"
#include "kernels/optimizer/grad_norm.hpp"
#include "kernels/optimizer/lion.hpp"
#include "kernels/random/dropout.hpp"
#include "tests/kernels/array.hpp"
#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

constexpr std::int64_t rows = 70;
constexpr std::int64_t columns = 32;

class WarmCalls : public testing::TestWithParam<DType> {
 protected:
  // Number of allocations of the second call.
  static long warm_allocations(const std::function<void()>& call) {
    call();
    const long before = allocation_count();
    call();
    return allocation_count() - before;
  }
  static Tensor matrix(const Buffer& buffer) { return buffer.tensor(GetParam(), {rows, columns}); }
  static Tensor row(const Buffer& buffer) { return buffer.tensor(GetParam(), {columns}); }
  static Tensor floats(const Buffer& buffer, const Shape& shape) {
    return buffer.tensor(DType::f32, shape);
  }

  static constexpr std::size_t bytes = rows * columns * sizeof(float);
  Buffer a_{bytes}, b_{bytes}, c_{bytes}, d_{bytes}, weight_{bytes}, bias_{bytes}, ids_{bytes};
  Tensor a = matrix(a_);
  Tensor b = matrix(b_);
  Tensor c = matrix(c_);
  Tensor d = matrix(d_);
  Tensor weight = row(weight_);
  Tensor bias = row(bias_);
  Tensor ids = ids_.tensor(DType::i32, {rows});
  Stream stream;
};

TEST_P(WarmCalls, Norms) {
  test::Scratch scratch(layernorm_scratch_bytes(rows, columns), MemorySpace::host);
  Arena& arena = scratch.arena();
  EXPECT_EQ(warm_allocations([&] { layernorm_forward(stream, a, b, weight, bias, 1e-5F); }), 0);
  EXPECT_EQ(warm_allocations([&] {
              layernorm_backward(stream, a, weight, bias, b, a, c, d.slice(0, 0, 1).flat(), 1e-5F,
                                 true, arena);
            }),
            0);
  EXPECT_EQ(warm_allocations([&] { rmsnorm_forward(stream, a, b, weight, 1e-5F); }), 0);
  EXPECT_EQ(warm_allocations([&] {
              residual_layernorm_forward(stream, a, d, b, c, bias, weight, bias, 1e-5F);
              residual_rmsnorm_forward(stream, a, d, b, c, bias, weight, 1e-5F);
            }),
            0);
  EXPECT_EQ(warm_allocations(
                [&] { rmsnorm_backward(stream, a, weight, b, a, c, bias, 1e-5F, true, arena); }),
            0);
  EXPECT_EQ(warm_allocations([&] { bias_backward(stream, bias, a, true, arena); }), 0);
}

TEST_P(WarmCalls, QkNorm) {
  const Shape heads = {rows, 2, columns / 2};
  const Tensor x = a.reshape(heads), y = b.reshape(heads), sums = floats(c_, {rows, 2});
  const Tensor gain = weight.slice(0, 0, columns / 2), dgain = bias.slice(0, 0, columns / 2);
  test::Scratch scratch(qk_norm_scratch_bytes(rows, 2, columns / 2), MemorySpace::host);
  EXPECT_EQ(warm_allocations([&] {
              qk_norm_sums(stream, sums, x);
              qk_norm_forward(stream, y, x, gain, sums, columns / 2, 1e-5F, 0.0F);
              qk_norm_gradient_sums(stream, sums, y, x, gain, 0.0F);
              qk_norm_backward(stream, y, dgain, y, x, gain, sums, sums, columns / 2, 1e-5F, 0.0F,
                               true, scratch.arena());
            }),
            0);
}

TEST_P(WarmCalls, Pointwise) {
  EXPECT_EQ(warm_allocations([&] { residual_forward(stream, a, b, c, bias); }), 0);
  EXPECT_EQ(warm_allocations([&] { accumulate(stream, a, b); }), 0);
  EXPECT_EQ(warm_allocations([&] { gelu_forward(stream, a, b); }), 0);
  EXPECT_EQ(warm_allocations([&] { gelu_backward(stream, a, b, c, d); }), 0);
  EXPECT_EQ(warm_allocations([&] { gelu_backward(stream, a, b, c, d, Gelu::erf); }), 0);
  EXPECT_EQ(warm_allocations([&] { dropout(stream, a, b, {0.5F, 1}, 0); }), 0);
}

TEST_P(WarmCalls, Generation) {
  const Shape queries{1, 1, 2, columns / 2};
  const Tensor cache = a.reshape({1, rows, 2, columns / 2});
  test::Scratch scratch(cached_attention_scratch_bytes(queries, rows), MemorySpace::host);
  const Tensor out = c.slice(0, 0, 1).reshape(queries), q = b.slice(0, 0, 1).reshape(queries);
  EXPECT_EQ(warm_allocations([&] { copy_rows(stream, a, b); }), 0);
  EXPECT_EQ(warm_allocations(
                [&] { cached_attention(stream, out, q, cache, cache, {}, scratch.arena()); }),
            0);
}

TEST_P(WarmCalls, TokensAndOptimizer) {
  const Tensor stats = floats(c_, {3 * rows});
  const Tensor loss = floats(d_, {rows});
  double total = 0.0;
  float factor = 1.0F;
  const Tensor lse = floats(weight_, {rows});
  const Buffer master(bytes), m(bytes), v(bytes);
  const Shape all = {rows * columns};
  const Tensor weights = GetParam() == DType::f32 ? Tensor{} : a.flat();
  test::Scratch scratch(embedding_scratch_bytes({rows, columns}, rows), MemorySpace::host);
  Arena& arena = scratch.arena();
  EXPECT_EQ(warm_allocations([&] { embedding_forward(stream, a, ids, b, 0); }), 0);
  EXPECT_EQ(warm_allocations([&] { embedding_backward(stream, b, ids, a, 0, true, arena); }), 0);
  EXPECT_EQ(warm_allocations([&] { position_forward(stream, a, b, 0, 10); }), 0);
  EXPECT_EQ(warm_allocations([&] { position_backward(stream, b, a, 0, 10, true); }), 0);
  EXPECT_EQ(warm_allocations([&] {
              cross_entropy_stats(stream, stats.reshape({rows, 3}), a, ids, 0, columns);
              cross_entropy_loss(stream, loss, lse, stats.reshape({1, rows, 3}), ids);
              cross_entropy_backward(stream, a, lse, ids, 0, columns, 1.0F);
              cross_entropy(stream, loss, a, ids, columns, 1.0F);
              cross_entropy(stream, loss, a, ids, columns, 1.0F, {.soft_cap = 30.0F});
              soft_cap(stream, a, 30.0F);
              add_sum(stream, Tensor(&total, {1}), loss);
            }),
            0);
  EXPECT_EQ(warm_allocations([&] {
              adamw(stream, floats(master, all), weights, b.flat(), Tensor(&factor, {1}),
                    floats(m, all), floats(v, all), {});
            }),
            0);
  EXPECT_EQ(warm_allocations([&] {
              lion(stream, floats(master, all), weights, b.flat(), Tensor(&factor, {1}),
                   floats(m, all), {});
            }),
            0);
  EXPECT_EQ(warm_allocations([&] { add_sum_of_squares(stream, Tensor(&total, {1}), a); }), 0);
}

TEST_P(WarmCalls, RopeAndSwiglu) {
  const Tensor heads = a.reshape({1, rows, 2, columns / 2});
  const Tensor table = floats(b_, {2, rows, columns / 4});
  EXPECT_EQ(warm_allocations([&] { rope_forward(stream, heads, table); }), 0);
  const Tensor x = a.reshape({rows / 2, 2 * columns});
  const Tensor dx = b.reshape({rows / 2, 2 * columns});
  const Tensor y = c.slice(0, 0, rows / 2);
  EXPECT_EQ(warm_allocations([&] { swiglu_forward(stream, y, x); }), 0);
  EXPECT_EQ(warm_allocations([&] { swiglu_backward(stream, dx, y, y, x); }), 0);
  EXPECT_EQ(warm_allocations([&] { geglu_backward(stream, dx, y, y, x); }), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, WarmCalls, test::every_type());

}  // namespace
}  // namespace triax
