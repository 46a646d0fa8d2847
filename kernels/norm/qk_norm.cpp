// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/qk_norm.hpp"

#include <algorithm>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/norm/column_sum.hpp"
#include "kernels/norm/norm_scale.hpp"
#include "kernels/norm/norm_weight.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/past_caches.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

// The heads of an (N, G, D) tensor.
template <class T>
struct Heads {
  T* data;
  std::int64_t rows, groups, columns;
  std::int64_t row_stride, group_stride;

  T* at(std::int64_t row, std::int64_t group) const {
    return data + row * row_stride + group * group_stride;
  }
};

template <class T>
Heads<T> heads_of(const Tensor& tensor, const char* name) {
  check(tensor.rank() == 3 && (tensor.stride(2) == 1 || tensor.size(2) <= 1),
        "{} of shape {} is not (N, G, D) with unit stride in D", name, tensor.shape());
  return {tensor.as<T>(), tensor.size(0),   tensor.size(1),
          tensor.size(2), tensor.stride(0), tensor.stride(1)};
}

template <class T>
Heads<T> heads_like(const Tensor& tensor, const Heads<T>& like, const char* name) {
  const Heads<T> heads = heads_of<T>(tensor, name);
  check(heads.rows == like.rows && heads.groups == like.groups && heads.columns == like.columns,
        "{} is {} and must be ({}, {}, {})", name, tensor.shape(), like.rows, like.groups,
        like.columns);
  return heads;
}

// The (N, G) numbers, one per head.
template <class T>
float* numbers_of(const Tensor& tensor, const Heads<T>& heads, const char* name) {
  return elements_of(tensor, heads.rows * heads.groups, name);
}

template <class T, class Gain>
void forward_head(T* y, const T* x, const Gain& gain, std::int64_t columns, float r, bool past) {
  for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
    lanes.write(y + c, lanes.load(x + c) * r * gain(c, lanes), past);
  });
}

// With xhat = x r and g = dy weight: dx = r (g - xhat mean(g xhat)),  dweight += dy xhat
template <class T, class Gain>
void backward_head(T* dx, float* dweight, const T* dy, const T* x, const Gain& gain,
                   std::int64_t columns, float r, float mean_gx, bool past) {
  for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
    const FloatVector d = lanes.stream(dy + c);
    const FloatVector xhat = lanes.stream(x + c) * r;
    lanes.store(dweight + c, multiply_add(d, xhat, lanes.load(dweight + c)));
    lanes.write(dx + c, r * multiply_add(xhat, FloatVector{} - mean_gx, d * gain(c, lanes)), past);
  });
}

}  // namespace

void qk_norm_sums(const Stream& stream, const Tensor& sums, const Tensor& x) {
  if (on_device(stream)) return cuda::qk_norm_sums(stream, sums, x);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const Heads<T> in = heads_of<T>(x, "x");
    float* out = numbers_of(sums, in, "sums");
    parallel_for(in.rows, [=](std::int64_t n) {
      for (std::int64_t g = 0; g < in.groups; ++g) {
        const T* head = in.at(n, g);
        out[n * in.groups + g] = vector_sum(in.columns, [=](std::int64_t c, auto lanes) {
          const FloatVector v = lanes.stream(head + c);
          return Product{v, v};
        });
      }
    });
  });
}

void qk_norm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                     const Tensor& sums, std::int64_t width, float epsilon, float weight_offset) {
  if (on_device(stream))
    return cuda::qk_norm_forward(stream, y, x, weight, sums, width, epsilon, weight_offset);
  const auto count = static_cast<float>(width);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Heads<T> out = heads_of<T>(y, "y");
    const Heads<T> in = heads_like(x, out, "x");
    const float* squares = numbers_of(sums, out, "sums");
    const bool past = past_caches(y, {&x});
    with_weight(elements_of<T>(weight, out.columns, "weight"), weight_offset, [&](auto gain) {
      parallel_for(out.rows, [=](std::int64_t n) {
        for (std::int64_t g = 0; g < out.groups; ++g)
          forward_head(out.at(n, g), in.at(n, g), gain, out.columns,
                       norm_scale(squares[n * out.groups + g] / count, epsilon), past);
      });
    });
  });
}

void qk_norm_gradient_sums(const Stream& stream, const Tensor& dots, const Tensor& dy,
                           const Tensor& x, const Tensor& weight, float weight_offset) {
  if (on_device(stream))
    return cuda::qk_norm_gradient_sums(stream, dots, dy, x, weight, weight_offset);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const Heads<T> in = heads_of<T>(x, "x");
    const Heads<T> upstream = heads_like(dy, in, "dy");
    float* out = numbers_of(dots, in, "dots");
    with_weight(elements_of<T>(weight, in.columns, "weight"), weight_offset, [&](auto gain) {
      parallel_for(in.rows, [=](std::int64_t n) {
        for (std::int64_t g = 0; g < in.groups; ++g) {
          const T* head = in.at(n, g);
          const T* d = upstream.at(n, g);
          out[n * in.groups + g] = vector_sum(in.columns, [=](std::int64_t c, auto lanes) {
            return Product{lanes.stream(d + c) * gain(c, lanes), lanes.stream(head + c)};
          });
        }
      });
    });
  });
}

void qk_norm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                      const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& sums,
                      const Tensor& dots, std::int64_t width, float epsilon, float weight_offset,
                      bool accumulate, Arena& scratch) {
  if (on_device(stream))
    return cuda::qk_norm_backward(stream, dx, dweight, dy, x, weight, sums, dots, width, epsilon,
                                  weight_offset, accumulate, scratch);
  const ArenaScope scope(scratch);
  const std::int64_t columns = weight.elements();
  const std::int64_t blocks = row_blocks(dx.size(0));
  check(dweight.empty() || dweight.elements() == columns, "dweight of shape {} for {} columns",
        dweight.shape(), columns);
  float* partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  const auto count = static_cast<float>(width);
  with_type(dx.dtype(), [&]<class T>(Type<T>) {
    const Heads<T> out = heads_of<T>(dx, "dx");
    const Heads<T> upstream = heads_like(dy, out, "dy");
    const Heads<T> in = heads_like(x, out, "x");
    const float* squares = numbers_of(sums, out, "sums");
    const float* products = numbers_of(dots, out, "dots");
    const bool past = past_caches(dx, {&dy, &x});
    with_weight(elements_of<T>(weight, out.columns, "weight"), weight_offset, [&](auto gain) {
      parallel_for(blocks, [=](std::int64_t b) {
        float* of_block = partials + b * columns;
        std::fill_n(of_block, columns, 0.0F);
        const std::int64_t end = std::min(out.rows, (b + 1) * rows_per_block);
        for (std::int64_t n = b * rows_per_block; n < end; ++n)
          for (std::int64_t g = 0; g < out.groups; ++g) {
            const std::int64_t i = n * out.groups + g;
            const float r = norm_scale(squares[i] / count, epsilon);
            backward_head(out.at(n, g), of_block, upstream.at(n, g), in.at(n, g), gain, columns, r,
                          products[i] * r / count, past);
          }
      });
    });
  });
  add_partial_rows(dweight, partials, blocks, accumulate);
}

std::size_t qk_norm_scratch_bytes(std::int64_t rows, std::int64_t groups, std::int64_t head_size,
                                  MemorySpace space) {
  // A device sums heads in chunks, the host the rows of all groups.
  const std::int64_t summed = space == MemorySpace::device ? rows * groups : rows;
  return column_sum_bytes(norm_blocks(summed, space), head_size);
}

}  // namespace triax
