// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/qk_norm.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/fast_math.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/norm/gain.hpp"
#include "kernels/cuda/norm/heads.hpp"
#include "kernels/cuda/norm/held_row.hpp"
#include "kernels/norm/norm_scale.hpp"

namespace triax::cuda {
namespace {

// Terms of a sum over the elements of a head: x^2.
template <class T>
struct Squares {
  using Element = T;
  struct Pieces {
    Piece x;
  };
  static constexpr int ahead = 4;
  StridedHeads<T> x;

  template <bool allowed>
  TRIAX_DEVICE Pieces load(const HeadIndex& head, int column) const {
    return {piece_at<allowed>(x[head] + column, x.columns - column)};
  }
  template <bool allowed>
  TRIAX_DEVICE void add(float& sum, const Pieces& pieces, int /*column*/) const {
    float values[wide<T>];
    unpack<T>(values, pieces.x);
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) sum += values[i] * values[i];
  }
};

// Terms dy (weight + offset) x.
template <class T>
struct Dots {
  using Element = T;
  struct Pieces {
    Piece x, dy;
  };
  static constexpr int ahead = 2;
  StridedHeads<T> x, dy;
  Gain<T, true> weight;

  template <bool allowed>
  TRIAX_DEVICE Pieces load(const HeadIndex& head, int column) const {
    return {piece_at<allowed>(x[head] + column, x.columns - column),
            piece_at<allowed>(dy[head] + column, x.columns - column)};
  }
  template <bool allowed>
  TRIAX_DEVICE void add(float& sum, const Pieces& pieces, int column) const {
    float values[wide<T>], upstream[wide<T>], gain[wide<T>];
    unpack<T>(values, pieces.x);
    unpack<T>(upstream, pieces.dy);
    weight.template load<allowed>(gain, column, x.columns);
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) sum += upstream[i] * gain[i] * values[i];
  }
};

// sums[h] = sum of the terms of head h. `threads` neighbouring lanes work on one head. They request
// several pieces of a long head before they add the first.
template <class Terms, bool allowed>
struct SumHeads {
  static constexpr int max_threads = head_block_threads;
  float* sums;
  Terms terms;
  int threads;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const int thread = block.thread_x() % threads;
    const std::int64_t head =
        block.index_x() * (block.threads_x() / threads) + block.thread_x() / threads;
    const bool exists = head < terms.x.count();
    float sum = exists ? sum_of(terms.x.index_of(head), thread) : 0.0F;
    for (int mask = threads / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
    if (exists && thread == 0) sums[head] = sum;
  }

  TRIAX_DEVICE float sum_of(const HeadIndex& head, int thread) const {
    constexpr int ahead = allowed ? Terms::ahead : 1;  // single elements take more registers
    constexpr int width = wide<typename Terms::Element>;
    const int step = threads * width;
    const int columns = terms.x.columns;
    float sum = 0.0F;
    int column = thread * width;
    for (; column + (ahead - 1) * step < columns; column += ahead * step) {
      typename Terms::Pieces pieces[ahead];
      TRIAX_UNROLL
      for (int k = 0; k < ahead; ++k)
        pieces[k] = terms.template load<allowed>(head, column + k * step);
      TRIAX_UNROLL
      for (int k = 0; k < ahead; ++k)
        terms.template add<allowed>(sum, pieces[k], column + k * step);
    }
    for (; column < columns; column += step)
      terms.template add<allowed>(sum, terms.template load<allowed>(head, column), column);
    return sum;
  }
};

// The scale of head h: 1 / sqrt(sums[h] / width + epsilon).
struct HeadScale {
  const float* sums;
  float width;
  float epsilon;

  TRIAX_DEVICE float operator()(std::int64_t head) const {
    return norm_scale(sums[head] / width, epsilon);
  }
};

// Row n has the elements of all its heads: column c is element c % D of head c / D.
template <class T>
struct Forward {
  StridedHeads<T> y, x;
  const T* weight;
  float offset;
  HeadScale scale;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    const std::int32_t group = static_cast<std::int32_t>(column) / y.columns;
    const std::int32_t d = static_cast<std::int32_t>(column) - group * y.columns;
    const HeadIndex head{static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(group)};
    const float r = scale(row * y.groups + group);
    float values[n], gain[n];
    load<n>(values, x[head] + d);
    load<n>(gain, weight + d);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) gain[i] = (gain[i] + offset) * (values[i] * r);
    store<n>(y[head] + d, gain);
  }
};

// With xhat = x r and g = dy weight: dx = r (g - xhat mean(g xhat)),  dweight += dy xhat. A CUDA
// block works on `of_block` heads, `threads` neighbouring lanes on one of them at a time, and on as
// many columns as they hold in one piece each; blocks_y cover the columns.
template <class T, bool allowed>
struct Backward {
  static constexpr int max_threads = head_block_threads;
  StridedHeads<T> dx, dy, x;
  Gain<T, true> weight;
  HeadScale scale;
  const float* dots;
  float* partials;  // (blocks_x, D)
  int threads;
  std::int64_t of_block;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const int column = static_cast<int>(block.index_y()) * threads * wide<T> +
                       block.thread_x() % threads * wide<T>;
    const std::int64_t begin = block.index_x() * of_block;
    const std::int64_t end = begin + of_block < dx.count() ? begin + of_block : dx.count();
    float sums[wide<T>] = {};
    if (column < dx.columns) {
      float gain[wide<T>];
      weight.template load<allowed>(gain, column, dx.columns);
      for (std::int64_t head = begin + block.thread_x() / threads; head < end;
           head += block.threads_x() / threads)
        backward_piece(sums, gain, head, column);
    }
    write_sums(block, sums);
  }

  TRIAX_DEVICE void backward_piece(float* sums, const float* gain, std::int64_t head,
                                   int column) const {
    const HeadIndex at = dx.index_of(head);
    float values[wide<T>], upstream[wide<T>];
    load_piece<allowed>(values, x[at] + column, dx.columns - column);
    load_piece<allowed>(upstream, dy[at] + column, dx.columns - column);
    const float r = scale(head);
    const float mean_gx = dots[head] * r / scale.width;
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) {
      const float xhat = values[i] * r;
      const float g = rounded_product(upstream[i], gain[i]);
      sums[i] += upstream[i] * xhat;
      values[i] = r * (g - xhat * mean_gx);
    }
    store_piece<allowed>(dx[at] + column, values, dx.columns - column);
  }

  // partials[block][column] = the sums of the threads that hold the column, in their order.
  TRIAX_DEVICE void write_sums(const Block& block, const float* sums) const {
    auto* shared = block.shared<float>();
    store<wide<T>>(shared + block.thread_x() * wide<T>, sums);
    block.sync();
    const int across = threads * wide<T>;
    const int column = static_cast<int>(block.index_y()) * across + block.thread_x();
    if (block.thread_x() >= across || column >= dx.columns) return;
    float total = 0.0F;
    for (int at = block.thread_x(); at < block.threads_x() * wide<T>; at += across)
      total += shared[at];
    partials[block.index_x() * dx.columns + column] = total;
  }
};

template <class Terms>
void sum_heads(const Stream& stream, const Tensor& sums, const Terms& terms, bool pieces) {
  constexpr int width = wide<typename Terms::Element>;
  const std::int64_t heads = terms.x.count();
  float* out = device_elements(sums, heads, "sums of heads");
  with_bool(pieces, [&]<bool allowed>(std::bool_constant<allowed>) {
    launch(stream, head_sum_shape(heads, terms.x.columns, width),
           SumHeads<Terms, allowed>{out, terms, threads_of_head(terms.x.columns, width)});
  });
}

}  // namespace

void qk_norm_sums(const Stream& stream, const Tensor& sums, const Tensor& x) {
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const Squares<T> terms{device_heads<T>(x, "x")};
    sum_heads(stream, sums, terms, aligned(terms.x));
  });
}

void qk_norm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                     const Tensor& sums, std::int64_t width, float epsilon, float weight_offset) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const StridedHeads<T> out = device_heads<T>(y, "y");
    const StridedHeads<T> in = device_heads_like(x, out, "x");
    const T* gain = device_elements<T>(weight, out.columns, "weight");
    const HeadScale scale{device_elements(sums, out.count(), "sums"), static_cast<float>(width),
                          epsilon};
    tiles<wide<T>>(stream, out.rows, std::int64_t{out.groups} * out.columns,
                   aligned(out) && aligned(in) && aligned(gain),
                   Forward<T>{out, in, gain, weight_offset, scale});
  });
}

void qk_norm_gradient_sums(const Stream& stream, const Tensor& dots, const Tensor& dy,
                           const Tensor& x, const Tensor& weight, float weight_offset) {
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const StridedHeads<T> in = device_heads<T>(x, "x");
    const StridedHeads<T> upstream = device_heads_like(dy, in, "dy");
    const T* gain = device_elements<T>(weight, in.columns, "weight");
    sum_heads(stream, dots, Dots<T>{in, upstream, {gain, weight_offset}},
              aligned(in) && aligned(upstream) && aligned(gain));
  });
}

void qk_norm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                      const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& sums,
                      const Tensor& dots, std::int64_t width, float epsilon, float weight_offset,
                      bool accumulate, Arena& scratch) {
  const ArenaScope scope(scratch);
  const std::int64_t columns = weight.elements();
  const std::int64_t blocks = head_gradient_blocks(dx.size(0) * dx.size(1));
  check(dweight.empty() || dweight.elements() == columns, "dweight of shape {} for {} columns",
        dweight.shape(), columns);
  float* partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  with_type(dx.dtype(), [&]<class T>(Type<T>) {
    const StridedHeads<T> out = device_heads<T>(dx, "dx");
    const StridedHeads<T> upstream = device_heads_like(dy, out, "dy");
    const StridedHeads<T> in = device_heads_like(x, out, "x");
    const T* gain = device_elements<T>(weight, out.columns, "weight");
    const HeadScale scale{device_elements(sums, out.count(), "sums"), static_cast<float>(width),
                          epsilon};
    const float* products = device_elements(dots, out.count(), "dots");
    const bool pieces = aligned(out) && aligned(upstream) && aligned(in) && aligned(gain);
    with_bool(pieces, [&]<bool allowed>(std::bool_constant<allowed>) {
      launch(stream, head_gradient_shape(out.count(), columns, wide<T>),
             Backward<T, allowed>{out,
                                  upstream,
                                  in,
                                  {gain, weight_offset},
                                  scale,
                                  products,
                                  partials,
                                  threads_of_head(columns, wide<T>),
                                  head_gradient_rows(out.count())});
    });
  });
  add_partial_rows(stream, {dweight, partials}, blocks, accumulate);
}

}  // namespace triax::cuda
