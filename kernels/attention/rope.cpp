// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/rope.hpp"

#include <cmath>
#include <iterator>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

// Rotates every pair (d, d + R/2) of every head by its angle, or by minus the angle (sign = -1).
void rotate(const Tensor& x, const Tensor& table, const Tensor& positions, float sign) {
  check(x.rank() == 4 && x.stride(3) == 1 && x.stride(2) == x.size(3) && x.size(3) % 2 == 0,
        "rope on {}: the heads must be contiguous and of even size", x.shape());
  const std::int64_t length = x.size(1);
  const std::int64_t heads = x.size(2);
  const std::int64_t width = x.size(3);
  check_rope_table(table, x);
  check_rope_positions(positions, x);
  const std::int64_t half = table.size(2);
  const float* cosines = table.as<float>();
  const float* sines = cosines + table.stride(0);
  const std::int64_t batch_stride = x.stride(0);
  const std::int64_t row_stride = x.stride(1);
  const std::int32_t* given = positions.empty() ? nullptr : positions.as<std::int32_t>();
  const std::int64_t given_stride = positions.empty() ? 0 : positions.stride(0);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* data = x.as<T>();
    parallel_for(x.size(0) * length, [=](std::int64_t r) {
      const std::int64_t t = r % length;
      const std::int64_t position =
          given == nullptr ? t : std::int64_t{given[r / length * given_stride + t]};
      const float* c = cosines + position * half;
      const float* s = sines + position * half;
      T* row = data + r / length * batch_stride + t * row_stride;
      for (std::int64_t h = 0; h < heads; ++h) {
        T* low = row + h * width;
        T* high = low + half;
        for_vectors(0, half, [=](std::int64_t d, auto lanes) {
          const FloatVector a = lanes.load(low + d);
          const FloatVector b = lanes.load(high + d);
          const FloatVector cosine = lanes.load(c + d);
          const FloatVector sine = sign * lanes.load(s + d);
          lanes.store(low + d, multiply_add(a, cosine, -b * sine));
          lanes.store(high + d, multiply_add(b, cosine, a * sine));
        });
      }
    });
  });
}

// Fills a table on the host.
void fill_table(const Tensor& table, std::span<const double> frequencies, double factor) {
  const std::int64_t length = table.size(1);
  const std::int64_t half = table.size(2);
  float* cosines = elements_of(table, table.elements(), "table");
  float* sines = cosines + length * half;
  const double* frequency = frequencies.data();
  parallel_for(length, [=](std::int64_t t) {
    for (std::int64_t d = 0; d < half; ++d) {
      const double angle = static_cast<double>(t) * frequency[d];
      cosines[t * half + d] = static_cast<float>(std::cos(angle) * factor);
      sines[t * half + d] = static_cast<float>(std::sin(angle) * factor);
    }
  });
}

}  // namespace

void rope_table(const Stream& stream, const Tensor& table, std::span<const double> frequencies,
                double factor) {
  check(table.rank() == 3 && table.size(0) == 2 && table.size(2) == std::ssize(frequencies),
        "rope table of shape {} for {} frequencies", table.shape(), frequencies.size());
  if (!on_device(stream)) return fill_table(table, frequencies, factor);
  const Buffer memory(static_cast<std::size_t>(table.elements()) * sizeof(float));
  const Tensor made = memory.tensor(DType::f32, table.shape());
  fill_table(made, frequencies, factor);
  copy(stream, table, made);
  stream.synchronize();  // the copy reads `memory`
}

void rope_forward(const Stream& stream, const Tensor& x, const Tensor& table,
                  const Tensor& positions) {
  if (on_device(stream)) return cuda::rope_forward(stream, x, table, positions);
  rotate(x, table, positions, 1.0F);
}

void rope_backward(const Stream& stream, const Tensor& dx, const Tensor& table,
                   const Tensor& positions) {
  if (on_device(stream)) return cuda::rope_backward(stream, dx, table, positions);
  rotate(dx, table, positions, -1.0F);
}

}  // namespace triax
