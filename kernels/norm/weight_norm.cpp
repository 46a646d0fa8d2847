// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/weight_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {

constexpr std::int64_t columns_at_once = 64;

void require_host(const Stream& stream) {
  check(stream.space() == MemorySpace::host, "norms of weights on a device");
}

}  // namespace

void add_row_squares(const Stream& stream, const Tensor& sums, const Tensor& w) {
  require_host(stream);
  const Rows<float> rows = rows_of<float>(w, "w");
  double* to = elements_of<double>(sums, rows.rows, "sums");
  parallel_for(rows.rows, [=](std::int64_t r) {
    const float* row = rows[r];
    // Several sums at a time: they do not wait for each other.
    std::array<double, 8> partial{};
    std::int64_t c = 0;
    for (; c + 8 <= rows.columns; c += 8)
      for (std::size_t i = 0; i < 8; ++i) {
        const double value = row[c + static_cast<std::int64_t>(i)];
        partial[i] += value * value;
      }
    double sum = 0.0;
    for (; c < rows.columns; ++c) sum += static_cast<double>(row[c]) * row[c];
    for (const double each : partial) sum += each;
    to[r] += sum;
  });
}

void add_column_squares(const Stream& stream, const Tensor& sums, const Tensor& w) {
  require_host(stream);
  const Rows<float> rows = rows_of<float>(w, "w");
  double* to = elements_of<double>(sums, rows.columns, "sums");
  parallel_for_blocks(rows.columns, columns_at_once, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = 0; r < rows.rows; ++r)
      for (std::int64_t c = begin; c < end; ++c)
        to[c] += static_cast<double>(rows[r][c]) * rows[r][c];
  });
}

void norms_of_squares(const Stream& stream, const Tensor& norms, const Tensor& sums, DType type) {
  require_host(stream);
  float* to = elements_of<float>(norms, sums.elements(), "norms");
  const double* from = elements_of<double>(sums, sums.elements(), "sums");
  with_type(type, [&]<class T>(Type<T>) {
    for (std::int64_t i = 0; i < sums.elements(); ++i)
      to[i] = static_cast<float>(static_cast<T>(static_cast<float>(std::sqrt(from[i]))));
  });
}

void magnitude_factors(const Stream& stream, const Tensor& factors, const Tensor& magnitudes,
                       const Tensor& norms, float less) {
  require_host(stream);
  const std::int64_t count = factors.elements();
  float* to = elements_of<float>(factors, count, "factors");
  const float* norm = elements_of<float>(norms, count, "norms");
  with_type(magnitudes.dtype(), [&]<class T>(Type<T>) {
    const T* m = elements_of<T>(magnitudes, count, "magnitudes");
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = (norm[i] > 0.0F ? static_cast<float>(m[i]) / norm[i] : 1.0F) - less;
  });
}

void scale_columns(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& factors,
                   const Tensor& bias) {
  require_host(stream);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> in = rows_like<T>(x, out, "x");
    const float* factor = elements_of<float>(factors, out.columns, "factors");
    const T* shift = bias.empty() ? nullptr : elements_of<T>(bias, out.columns, "bias");
    parallel_for(out.rows, [=](std::int64_t r) {
      const T* from = in[r];
      T* to = out[r];
      for (std::int64_t c = 0; c < out.columns; ++c) {
        const float added =
            shift == nullptr ? 0.0F : (1.0F - factor[c]) * static_cast<float>(shift[c]);
        to[c] = static_cast<T>(factor[c] * static_cast<float>(from[c]) + added);
      }
    });
  });
}

void magnitude_backward(const Stream& stream, const Tensor& out, const Tensor& dy, const Tensor& z,
                        const Tensor& bias, const Tensor& norms, bool accumulate) {
  require_host(stream);
  with_types(dy.dtype(), out.dtype(), [&]<class T, class To>(Type<T>, Type<To>) {
    const Rows<T> gradient = rows_of<T>(dy, "dy");
    const Rows<T> values = rows_like<T>(z, gradient, "z");
    const T* shift = bias.empty() ? nullptr : elements_of<T>(bias, gradient.columns, "bias");
    const float* norm = elements_of<float>(norms, gradient.columns, "norms");
    To* to = elements_of<To>(out, gradient.columns, "out");
    parallel_for_blocks(
        gradient.columns, columns_at_once, [=](std::int64_t begin, std::int64_t end) {
          std::array<double, columns_at_once> sums{};
          for (std::int64_t r = 0; r < gradient.rows; ++r)
            for (std::int64_t c = begin; c < end; ++c) {
              const double value =
                  static_cast<float>(values[r][c]) -
                  (shift == nullptr ? 0.0 : static_cast<double>(static_cast<float>(shift[c])));
              sums[static_cast<std::size_t>(c - begin)] +=
                  static_cast<double>(static_cast<float>(gradient[r][c])) * value;
            }
          for (std::int64_t c = begin; c < end; ++c) {
            const double sum = sums[static_cast<std::size_t>(c - begin)];
            const double found = norm[c] > 0.0F ? sum / static_cast<double>(norm[c]) : 0.0;
            const double before = accumulate ? static_cast<double>(static_cast<float>(to[c])) : 0.0;
            to[c] = static_cast<To>(static_cast<float>(before + found));
          }
        });
  });
}

}  // namespace triax
