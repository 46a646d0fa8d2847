// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/row_matmul.hpp"

#include <algorithm>

#include "kernels/base/with_type.hpp"
#include "kernels/matmul/row_tiles.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {

using namespace row_tiles;

// Columns of b are contiguous: an element of c is a sum of 16 partial sums, which lie in the lanes
// of one or two registers.
template <class T>
struct Dots {
  static constexpr int rows = many_registers ? 6 : 3, columns = many_registers ? 4 : 2;
  static constexpr int partial_sums = 16, parts = partial_sums / vector_floats;
  using Sums = detail::LaneSums<partial_sums>;

  template <int Rows, int Columns, class Lanes>
  [[gnu::always_inline]] static void add(FloatVector (&sums)[Rows][Columns], const float* a,
                                         std::int64_t a_stride, const T* b, std::int64_t b_stride,
                                         Lanes lanes) {
    FloatVector weights[Columns];
#pragma GCC unroll 4
    for (int n = 0; n < Columns; ++n) {
      prefetch(b + (Columns + n) * b_stride);  // the next columns: few rows read them very soon
      weights[n] = lanes.load(b + n * b_stride);
    }
#pragma GCC unroll 6
    for (int m = 0; m < Rows; ++m) {
      const FloatVector x = lanes.load(a + m * a_stride);
#pragma GCC unroll 4
      for (int n = 0; n < Columns; ++n) sums[m][n] = multiply_add(x, weights[n], sums[m][n]);
    }
  }

  template <int Rows, int Columns>
  static void block(const RowProduct<T>& p, std::int64_t m0, std::int64_t n0) {
    const float* a = p.a + m0 * p.a_stride;
    const T* b = p.b + n0 * p.b_stride;
    FloatVector sums[parts][Rows][Columns] = {};
    std::int64_t k = 0;
    for (; k + partial_sums <= p.depth; k += partial_sums)
#pragma GCC unroll 2
      for (int part = 0; part < parts; ++part)
        add<Rows, Columns>(sums[part], a + k + part * vector_floats, p.a_stride,
                           b + k + part * vector_floats, p.b_stride, AllLanes{});
#pragma GCC unroll 2
    for (int part = 0; part < parts; ++part, k += vector_floats) {
      if (k + vector_floats <= p.depth)
        add<Rows, Columns>(sums[part], a + k, p.a_stride, b + k, p.b_stride, AllLanes{});
      else if (k < p.depth)
        add<Rows, Columns>(sums[part], a + k, p.a_stride, b + k, p.b_stride,
                           FirstLanes{p.depth - k});
    }
    for (int m = 0; m < Rows; ++m)
      for (int n = 0; n < Columns; ++n) {
        Sums sum;
        for (int part = 0; part < parts; ++part) sum.vectors[part] = sums[part][m][n];
        const float bias = p.bias != nullptr ? p.bias[n0 + n] : 0.0F;
        p.c[(m0 + m) * p.c_stride + n0 + n] = sum.total() + bias;
      }
  }
};

// Columns per task: a few tasks per thread, cut as cache lines are.
std::int64_t panel_columns(std::int64_t columns, std::int64_t tasks_per_thread, std::int64_t most) {
  constexpr std::int64_t step = 64;
  const std::int64_t share = columns / (tasks_per_thread * host_concurrency());
  return std::clamp<std::int64_t>(share / step * step, step, most);
}

// Rows go in blocks that stay in the second-level cache while a panel of columns passes by.
template <class T>
void multiply(Dots<T>, const RowProduct<T>& p) {
  using Kernel = Dots<T>;
  constexpr std::int64_t cached_floats = std::int64_t{48} << 10;
  const std::int64_t fit = cached_floats / p.depth / Kernel::rows * Kernel::rows;
  const std::int64_t block = std::max<std::int64_t>(fit, 4 * Kernel::rows);
  const auto tile = [=](std::int64_t m, std::int64_t rows, std::int64_t n, std::int64_t columns) {
    with_number<Kernel::rows>(rows, [&]<int R>() {
      with_number<Kernel::columns>(columns,
                                   [&]<int C>() { Kernel::template block<R, C>(p, m, n); });
    });
  };
  const std::int64_t panel = panel_columns(p.columns, 4, 256);
  parallel_for_blocks(p.columns, panel, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = 0; first < p.rows; first += block)
      for_tiles<Kernel>(first, std::min(first + block, p.rows), begin, end, tile);
  });
}

// Few rows read b nearly in its order in memory: shallow chunks, wide panels.
template <class T>
void multiply(ColumnSums<T>, const RowProduct<T>& p) {
  using Kernel = ColumnSums<T>;
  const bool few = p.rows <= 8;
  const std::int64_t chunk = few ? 8 : std::min<std::int64_t>(4 * p.rows, 256);
  const std::int64_t panel = panel_columns(p.columns, few ? 1 : 4, few ? 8192 : 512);
  parallel_for_blocks(p.columns, panel, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = 0; k < p.depth; k += chunk) {
      const DepthRange depth{k, std::min(k + chunk, p.depth)};
      for_tiles<Kernel>(0, p.rows, begin, end,
                        [&](std::int64_t m, std::int64_t rows, std::int64_t n, std::int64_t count) {
                          with_number<Kernel::rows>(rows, [&]<int R>() {
                            Kernel::template block<R>(p, m, n, count, depth, k > 0);
                          });
                        });
    }
  });
}

void check_arguments(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor& bias) {
  check(a.rank() == 2 && b.rank() == 2 && c.rank() == 2 && a.size(1) == b.size(0) &&
            c.size(0) == a.size(0) && c.size(1) == b.size(1),
        "row product of {} and {} into {}", a.shape(), b.shape(), c.shape());
  for (const Tensor* x : {&a, &c})
    check(x->dtype() == DType::f32 && (x->size(1) <= 1 || x->stride(1) == 1),
          "row product of {} with columns {} apart", name_of(x->dtype()), x->stride(1));
  check(b.stride(0) == 1 || b.stride(1) == 1 || b.elements() == 0, "row product of strides {} {}",
        b.stride(0), b.stride(1));
  check(bias.empty() ||
            (bias.dtype() == DType::f32 && bias.contiguous() && bias.elements() == c.size(1)),
        "bias {} of a row product {}", bias.shape(), c.shape());
}

}  // namespace

void row_matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                const Tensor& bias) {
  check(stream.space() == MemorySpace::host, "a row product on a device");
  check_arguments(c, a, b, bias);
  if (c.elements() == 0) return;
  check(a.size(1) > 0, "a row product of depth 0");
  with_type(b.dtype(), [&]<class T>(Type<T>) {
    const bool dots = b.stride(0) == 1 && b.size(0) > 1;
    const RowProduct<T> p{a.as<float>(),
                          a.stride(0),
                          b.as<T>(),
                          dots ? b.stride(1) : b.stride(0),
                          c.as<float>(),
                          c.stride(0),
                          bias.empty() ? nullptr : bias.as<float>(),
                          c.size(0),
                          c.size(1),
                          a.size(1)};
    if (dots)
      multiply(Dots<T>{}, p);
    else
      multiply(ColumnSums<T>{}, p);
  });
}

}  // namespace triax
