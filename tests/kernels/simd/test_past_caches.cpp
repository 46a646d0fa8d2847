// SPDX-License-Identifier: Apache-2.0
// Results of 16 MiB and more, which are written past the caches, have the same bits as smaller
// ones.
#include "kernels/simd/past_caches.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "kernels/activation/elementwise.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/activation/swiglu.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/norm/layernorm.hpp"
#include "kernels/norm/rmsnorm.hpp"
#include "kernels/random/dropout.hpp"
#include "tests/kernels/array.hpp"

namespace triax {
namespace {

constexpr std::int64_t columns = 64;
constexpr std::int64_t parts = 2;

// Rows of `columns` numbers, just large enough in the type.
class PastCaches : public testing::TestWithParam<DType> {
 protected:
  DType dtype = GetParam();
  Stream stream;
  std::int64_t rows = (std::int64_t{16} << 20) / columns / std::int64_t(size_of(dtype));
  Buffer memory{std::size_t{16} << 20};
  Tensor whole = memory.tensor(dtype, {rows, columns});
  test::Array apart = test::Array(dtype, rows* columns);
  test::Array x = test::Array::random(dtype, rows* columns, 1);
  test::Array weight = test::Array::random(dtype, columns, 2);
  test::Array bias = test::Array::random(dtype, columns, 3);

  Tensor matrix(test::Array& array) const { return array.tensor({rows, columns}); }

  // Expects kernel(y, first row, rows of y) to give the same for all rows at once as for slices of
  // them.
  void expect_same(const std::function<void(const Tensor&, std::int64_t, std::int64_t)>& kernel) {
    ASSERT_TRUE(past_caches(whole, {}));
    kernel(whole, 0, rows);
    const std::int64_t count = rows / parts;
    for (std::int64_t first = 0; first < rows; first += count) {
      const Tensor part = matrix(apart).slice(0, first, count);
      ASSERT_FALSE(past_caches(part, {}));
      kernel(part, first, count);
    }
    test::Array made(dtype, rows * columns);
    copy(stream, made.tensor(), memory.tensor(dtype, {rows * columns}));
    EXPECT_TRUE(made == apart);
  }
};

TEST_P(PastCaches, Activations) {
  expect_same([&](const Tensor& y, std::int64_t first, std::int64_t count) {
    gelu_forward(stream, y, matrix(x).slice(0, first, count));
  });
  test::Array wide = test::Array::random(dtype, 2 * rows * columns, 4);
  expect_same([&](const Tensor& y, std::int64_t first, std::int64_t count) {
    swiglu_forward(stream, y, wide.tensor({rows, 2 * columns}).slice(0, first, count));
  });
  expect_same([&](const Tensor& y, std::int64_t first, std::int64_t count) {
    dropout(stream, y, matrix(x).slice(0, first, count), {0.3F, 7}, first * columns);
  });
}

TEST_P(PastCaches, Gradients) {
  test::Array dy = test::Array::random(dtype, rows * columns, 4);
  test::Array other(dtype, 2 * rows * columns);
  expect_same([&](const Tensor& dx, std::int64_t first, std::int64_t count) {
    gelu_backward(stream, dx, matrix(other).slice(0, first, count),
                  matrix(dy).slice(0, first, count), matrix(x).slice(0, first, count));
  });
  test::Array wide = test::Array::random(dtype, 2 * rows * columns, 5);
  expect_same([&](const Tensor& y, std::int64_t first, std::int64_t count) {
    swiglu_backward(stream, other.tensor({rows, 2 * columns}).slice(0, first, count), y,
                    matrix(dy).slice(0, first, count),
                    wide.tensor({rows, 2 * columns}).slice(0, first, count));
  });
}

TEST_P(PastCaches, NormsAndSums) {
  expect_same([&](const Tensor& y, std::int64_t first, std::int64_t count) {
    layernorm_forward(stream, y, matrix(x).slice(0, first, count), weight.tensor(), bias.tensor(),
                      1e-5F);
  });
  expect_same([&](const Tensor& y, std::int64_t first, std::int64_t count) {
    rmsnorm_forward(stream, y, matrix(x).slice(0, first, count), weight.tensor(), 1e-5F);
  });
  test::Array a = test::Array::random(dtype, rows * columns, 4);
  expect_same([&](const Tensor& y, std::int64_t first, std::int64_t count) {
    residual_forward(stream, y, matrix(x).slice(0, first, count), matrix(a).slice(0, first, count),
                     bias.tensor());
  });
  std::vector<std::int32_t> ids(static_cast<std::size_t>(rows));
  for (std::size_t r = 0; r < ids.size(); ++r) ids[r] = static_cast<std::int32_t>(r * 7 % 1000);
  const Tensor tokens(ids.data(), {rows});
  expect_same([&](const Tensor& y, std::int64_t first, std::int64_t count) {
    embedding_forward(stream, y, tokens.slice(0, first, count), matrix(x), 0);
  });
}

TEST_P(PastCaches, GradientsOfNorms) {
  test::Array dy = test::Array::random(dtype, rows * columns, 4);
  test::Array residual = test::Array::random(dtype, rows * columns, 5), sum(dtype, rows * columns);
  test::Array dweight(DType::f32, columns), dbias(DType::f32, columns);
  const Tensor gain = weight.tensor(), shift = bias.tensor();
  const auto part = [&](test::Array& of, std::int64_t first, std::int64_t count) {
    return matrix(of).slice(0, first, count);
  };
  expect_same([&](const Tensor& y, std::int64_t first, std::int64_t count) {
    residual_layernorm_forward(stream, y, part(sum, first, count), part(x, first, count),
                               part(dy, first, count), shift, gain, shift, 1e-5F);
  });
  for (const bool adds : {false, true}) {
    const auto skip = [&](std::int64_t first, std::int64_t count) {
      return adds ? part(residual, first, count) : Tensor{};
    };
    expect_same([&](const Tensor& dx, std::int64_t first, std::int64_t count) {
      test::Scratch scratch(layernorm_scratch_bytes(count, columns), MemorySpace::host);
      layernorm_backward(stream, dx, dweight.tensor(), dbias.tensor(), part(dy, first, count),
                         skip(first, count), part(x, first, count), gain, 1e-5F, false,
                         scratch.arena());
    });
    expect_same([&](const Tensor& dx, std::int64_t first, std::int64_t count) {
      test::Scratch scratch(rmsnorm_scratch_bytes(count, columns), MemorySpace::host);
      rmsnorm_backward(stream, dx, dweight.tensor(), part(dy, first, count), skip(first, count),
                       part(x, first, count), gain, 1e-5F, false, scratch.arena());
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PastCaches, test::every_type());

// The gradient of `up` begins in the middle of a row.
TEST(PastCachesRule, HalvesOfRowsNeedNotBeginAtAVector) {
  constexpr std::int64_t rows = std::int64_t{1} << 17, half = 24;
  const Buffer memory(std::size_t{rows} * 2 * half * sizeof(float));
  const Tensor dx = memory.tensor(DType::f32, {rows, 2 * half});
  ASSERT_TRUE(past_caches(dx, {}));
  test::Array x = test::Array::random(DType::f32, rows * 2 * half, 1);
  test::Array dy = test::Array::random(DType::f32, rows * half, 2), y(DType::f32, rows * half);
  test::Array apart(DType::f32, rows * 2 * half), made = apart;
  const Stream stream;
  const auto backward = [&](const Tensor& gradient, std::int64_t first, std::int64_t count) {
    swiglu_backward(stream, gradient, y.tensor({rows, half}).slice(0, first, count),
                    dy.tensor({rows, half}).slice(0, first, count),
                    x.tensor({rows, 2 * half}).slice(0, first, count));
  };
  backward(dx, 0, rows);
  copy(stream, made.tensor(), memory.tensor(DType::f32, {rows * 2 * half}));
  for (const std::int64_t first : {std::int64_t{0}, rows / 2})
    backward(apart.tensor({rows, 2 * half}).slice(0, first, rows / 2), first, rows / 2);
  EXPECT_TRUE(made == apart);
}

TEST(PastCachesRule, WhatIsReadWhereItIsWrittenOrNotAlignedStays) {
  const Buffer memory(std::size_t{17} << 20);
  const std::int64_t count = std::int64_t{4} << 20;
  const Tensor all = memory.tensor(DType::f32, {count + 64});
  const Tensor out = all.slice(0, 0, count);
  EXPECT_TRUE(past_caches(out, {}));
  EXPECT_FALSE(past_caches(out, {&out}));
  const Tensor elsewhere = all.slice(0, 64, count);
  EXPECT_TRUE(past_caches(out, {&elsewhere}));
  EXPECT_FALSE(past_caches(all.slice(0, 4, count), {}));
  EXPECT_FALSE(past_caches(all.slice(0, 0, count - 1), {}));
  EXPECT_FALSE(past_caches(all.restrided({count / 24, 24}, {24, 1}), {}));
}

}  // namespace
}  // namespace triax
