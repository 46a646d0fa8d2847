// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/grad_norm.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/simd_double.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

// Partial sums per tensor. The number is fixed, so that they need no scratch and the result does
// not depend on the number of threads. It also limits how many cores take part.
constexpr std::int64_t parts = 256;

// sum = add_to(sum, x[i]) over the elements, in double and in the order of vector_sums: elements go
// to 64 partial sums in turn. The zeros beyond the end add nothing.
template <class T, class Add>
double sum_of_terms(const T* x, std::int64_t n, const Add& add_to) {
  constexpr int lanes = 64;
  constexpr int loads = lanes / vector_floats;
  double sums[lanes] = {};
  DoubleVector vectors[2 * loads] = {};
  const auto add = [&](int at, FloatVector v) {
    vectors[2 * at] = add_to(vectors[2 * at], lower_half(v));
    vectors[2 * at + 1] = add_to(vectors[2 * at + 1], upper_half(v));
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
#pragma GCC unroll 8
    for (int at = 0; at < loads; ++at) add(at, load(x + i + at * vector_floats));
#pragma GCC unroll 8
  for (int at = 0; at < loads; ++at, i += vector_floats)
    if (i < n) add(at, FirstLanes{std::min<std::int64_t>(n - i, vector_floats)}.load(x + i));
  std::memcpy(sums, vectors, sizeof sums);
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

// sum_of_terms in `parts` sections, by all cores.
template <class T, class Add>
double sum_in_parts(const T* x, std::int64_t n, const Add& add_to) {
  double partial[parts] = {};
  double* sums = partial;
  const std::int64_t length = (n + parts - 1) / parts;
  parallel_for(parts, [=](std::int64_t part) {
    const std::int64_t begin = std::min(n, part * length);
    sums[part] = sum_of_terms(x + begin, std::min(n, begin + length) - begin, add_to);
  });
  double total = 0.0;
  for (const double value : partial) total += value;
  return total;
}

}  // namespace

void add_sum(const Stream& stream, const Tensor& total, const Tensor& x) {
  if (on_device(stream)) return cuda::add_sum(stream, total, x);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const T* data = elements_of<T>(x, x.elements(), "x");
    *elements_of<double>(total, 1, "total") +=
        sum_in_parts(data, x.elements(), [](DoubleVector sum, DoubleVector v) { return sum + v; });
  });
}

void add_sum_of_squares(const Stream& stream, const Tensor& total, const Tensor& x) {
  if (on_device(stream)) return cuda::add_sum_of_squares(stream, total, x);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const T* data = elements_of<T>(x, x.elements(), "x");
    *elements_of<double>(total, 1, "total") +=
        sum_in_parts(data, x.elements(),
                     [](DoubleVector sum, DoubleVector v) { return multiply_add(v, v, sum); });
  });
}

void clip_factor(const Stream& stream, const Tensor& factor, const Tensor& sums,
                 const ClipRule& rule) {
  if (on_device(stream)) return cuda::clip_factor(stream, factor, sums, rule);
  const double* of = elements_of<double>(sums, 2, "sums");
  float* to = elements_of(factor, 1, "factor");
  if (!std::isnan(*to)) *to = rule.factor(rule.norm(of[0], of[1]));
}

}  // namespace triax
