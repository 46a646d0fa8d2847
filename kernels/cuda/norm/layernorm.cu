// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/layernorm.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/fast_math.hpp"
#include "kernels/cuda/norm/held_row.hpp"
#include "kernels/norm/norm_scale.hpp"

namespace triax::cuda {
namespace {

// Mean and 1 / standard deviation of a row.
struct Moments {
  float mean;
  float rstd;

  TRIAX_DEVICE float normal(float x) const { return (x - mean) * rstd; }
};

template <class T, bool allowed>
TRIAX_DEVICE inline Moments moments_of(const Block& block, float* slots, const HeldRow<T>& x,
                                       int held, int columns, float epsilon) {
  const float inverse = 1.0F / static_cast<float>(columns);
  float mean = 0.0F;
  each_piece<T>(block, held, [&](int at, int) {
    float values[wide<T>];
    x.get(values, at);
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) mean += values[i];
  });
  row_sums<1>(block, slots, &mean);
  mean *= inverse;
  float variance = 0.0F;
  each_piece<T>(block, held, [&](int at, int column) {
    float values[wide<T>];
    x.get(values, at);
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) {
      if (!allowed && column + i >= columns) continue;
      const float difference = values[i] - mean;
      variance += difference * difference;
    }
  });
  row_sums<1>(block, slots, &variance);
  return {mean, norm_scale(variance * inverse, epsilon)};
}

// y = layer norm of the rows that Input loads.
template <class T, class Input, bool allowed>
struct Forward {
  static constexpr int max_threads = 512;
  static constexpr int resident_blocks = allowed ? 2 : 1;  // incomplete pieces take more registers
  Rows<T> y;
  Input input;
  const T* weight;
  const T* bias;
  float epsilon;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t row = block.index_x() * block.threads_y() + block.thread_y();
    const auto columns = static_cast<int>(y.columns);
    const int held = row < y.rows ? columns : 0;
    HeldRow<T> x;
    input.template load<allowed>(block, x, row, held);
    const Moments moments =
        moments_of<T, allowed>(block, block.shared<float>(), x, held, columns, epsilon);
    each_piece<T>(block, held, [&](int at, int column) {
      float values[wide<T>], gain[wide<T>], shift[wide<T>];
      x.get(values, at);
      load_piece<allowed>(gain, weight + column, columns - column);
      load_piece<allowed>(shift, bias + column, columns - column);
      TRIAX_UNROLL
      for (int i = 0; i < wide<T>; ++i) shift[i] += moments.normal(values[i]) * gain[i];
      store_piece<allowed>(y[row] + column, shift, columns - column);
    });
  }
};

// With xhat = (x - mean) rstd and g = dy weight:
//   dx = rstd (g - mean(g) - xhat mean(g xhat)),  dweight += dy xhat,  dbias += dy
template <class T, bool allowed>
struct Backward {
  static constexpr int max_threads = 512;
  GradientRows<T> rows;
  float* gain_partials;
  float* shift_partials;
  float epsilon;
  std::int64_t of_block;  // rows per CUDA block

  TRIAX_DEVICE void operator()(const Block& block) const {
    auto* slots = block.shared<float>();
    float* const out[] = {gain_partials, shift_partials};
    each_gradient_row(block, slots + row_sum_slots, rows, of_block, out,
                      [&](const ColumnSums<T, 2>& sums, std::int64_t row, int held) {
                        backward_row(block, slots, sums, row, held);
                      });
  }

  TRIAX_DEVICE void backward_row(const Block& block, float* slots, const ColumnSums<T, 2>& sums,
                                 std::int64_t row, int held) const {
    const auto columns = static_cast<int>(rows.dx.columns);
    HeldGradient<T> of;
    of.template load<allowed>(block, rows, row, held);
    const Moments moments = moments_of<T, allowed>(block, slots, of.x, held, columns, epsilon);
    float means[2] = {0.0F, 0.0F};  // of g and of g xhat
    each_piece<T>(block, held, [&](int at, int column) {
      float x[wide<T>], dy[wide<T>], gain[wide<T>], product[wide<T>];
      of.x.get(x, at);
      of.dy.get(dy, at);
      load_piece<allowed>(gain, rows.weight + column, columns - column);
      sums.add(1, at, dy);
      TRIAX_UNROLL
      for (int i = 0; i < wide<T>; ++i) {
        const float xhat = moments.normal(x[i]);
        const float g = dy[i] * gain[i];
        product[i] = dy[i] * xhat;
        means[0] += g;
        means[1] += g * xhat;
      }
      sums.add(0, at, product);
    });
    row_sums<2>(block, slots, means);
    const float inverse = 1.0F / static_cast<float>(columns);
    means[0] *= inverse;
    means[1] *= inverse;
    each_piece<T>(block, held, [&](int at, int column) {
      float x[wide<T>], dy[wide<T>], gain[wide<T>], skip[wide<T>];
      of.x.get(x, at);
      of.dy.get(dy, at);
      of.residual.get(skip, at);
      load_piece<allowed>(gain, rows.weight + column, columns - column);
      TRIAX_UNROLL
      for (int i = 0; i < wide<T>; ++i) {
        const float g = rounded_product(dy[i], gain[i]);
        const float gradient = moments.rstd * (g - means[0] - moments.normal(x[i]) * means[1]);
        x[i] = rows.residual.data == nullptr ? gradient : gradient + skip[i];
      }
      of.x.set(at, x);
    });
    of.x.template store<allowed>(block, rows.dx[row], held);
  }
};

template <class T, class Input>
void forward(const Stream& stream, const Rows<T>& y, const Input& input, const Tensor& weight,
             const Tensor& bias, float epsilon) {
  const T* gain = device_elements<T>(weight, y.columns, "weight");
  const T* shift = device_elements<T>(bias, y.columns, "bias");
  const bool pieces =
      y.columns % wide<T> == 0 && aligned(y) && aligned(input) && aligned(gain) && aligned(shift);
  with_bool(pieces, [&]<bool allowed>(std::bool_constant<allowed>) {
    launch(stream, row_shape(y.rows, y.columns, row_part<T>),
           Forward<T, Input, allowed>{y, input, gain, shift, epsilon});
  });
}

}  // namespace

void layernorm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                       const Tensor& bias, float epsilon) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const StoredRows<T> in{device_rows<T>(x, "x")};
    forward(stream, device_rows_like(y, in.x, "y"), in, weight, bias, epsilon);
  });
}

void residual_layernorm_forward(const Stream& stream, const Tensor& y, const Tensor& sum,
                                const Tensor& x, const Tensor& a, const Tensor& residual_bias,
                                const Tensor& weight, const Tensor& bias, float epsilon) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const ResidualRows<T> in = residual_rows<T>(sum, x, a, residual_bias);
    forward(stream, device_rows_like(y, in.sum, "y"), in, weight, bias, epsilon);
  });
}

void layernorm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                        const Tensor& dbias, const Tensor& dy, const Tensor& residual,
                        const Tensor& x, const Tensor& weight, float epsilon, bool accumulate,
                        Arena& scratch) {
  const ArenaScope scope(scratch);
  const std::int64_t columns = weight.elements();
  const std::int64_t blocks = gradient_blocks(dx.size(0));
  check((dweight.empty() || dweight.elements() == columns) &&
            (dbias.empty() || dbias.elements() == columns),
        "dweight of shape {} and dbias of shape {} for {} columns", dweight.shape(), dbias.shape(),
        columns);
  float* gain_partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  float* shift_partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  with_type(dx.dtype(), [&]<class T>(Type<T>) {
    const GradientRows<T> rows = gradient_rows<T>(dx, dy, residual, x, weight);
    with_bool(aligned(rows), [&]<bool allowed>(std::bool_constant<allowed>) {
      launch(stream, gradient_shape(rows.dx.rows, columns, row_part<T>, 2),
             Backward<T, allowed>{rows, gain_partials, shift_partials, epsilon,
                                  gradient_rows(rows.dx.rows)});
    });
  });
  add_partial_rows(stream, {dweight, gain_partials}, {dbias, shift_partials}, blocks, accumulate);
}

}  // namespace triax::cuda
