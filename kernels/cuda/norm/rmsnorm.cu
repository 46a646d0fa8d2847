// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/rmsnorm.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/fast_math.hpp"
#include "kernels/cuda/norm/gain.hpp"
#include "kernels/cuda/norm/held_row.hpp"
#include "kernels/norm/norm_scale.hpp"

namespace triax::cuda {
namespace {

// 1 / sqrt(mean of squares + epsilon) of the row whose share is `x`.
template <class T>
TRIAX_DEVICE inline float reciprocal_rms(const Block& block, float* slots, const HeldRow<T>& x,
                                         int held, int columns, float epsilon) {
  float squares = 0.0F;
  each_piece<T>(block, held, [&](int at, int) {
    float values[wide<T>];
    x.get(values, at);
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) squares += values[i] * values[i];
  });
  row_sums<1>(block, slots, &squares);
  return norm_scale(squares / static_cast<float>(columns), epsilon);
}

// y = RMS norm of the rows that Input loads.
template <class T, class Input, bool allowed, bool shifted>
struct Forward {
  static constexpr int max_threads = 512;
  static constexpr int resident_blocks = allowed ? 2 : 1;  // incomplete pieces take more registers
  Rows<T> y;
  Input input;
  Gain<T, shifted> weight;
  float epsilon;

  TRIAX_DEVICE void operator()(const Block& block) const {
    auto* slots = block.shared<float>();
    const std::int64_t row = block.index_x() * block.threads_y() + block.thread_y();
    const auto columns = static_cast<int>(y.columns);
    const int held = row < y.rows ? columns : 0;
    HeldRow<T> x;
    input.template load<allowed>(block, x, row, held);
    const float r = reciprocal_rms<T>(block, slots, x, held, columns, epsilon);
    each_piece<T>(block, held, [&](int at, int column) {
      float values[wide<T>], gain[wide<T>];
      x.get(values, at);
      weight.template load<allowed>(gain, column, columns);
      TRIAX_UNROLL
      for (int i = 0; i < wide<T>; ++i) gain[i] *= values[i] * r;
      store_piece<allowed>(y[row] + column, gain, columns - column);
    });
  }
};

// With xhat = x r and g = dy weight: dx = r (g - xhat mean(g xhat)),  dweight += dy xhat
template <class T, bool allowed, bool shifted>
struct Backward {
  static constexpr int max_threads = 512;
  GradientRows<T> rows;
  float offset;
  float* partials;
  float epsilon;
  std::int64_t of_block;  // rows per CUDA block

  TRIAX_DEVICE void operator()(const Block& block) const {
    auto* slots = block.shared<float>();
    float* const out[] = {partials};
    each_gradient_row(block, slots + row_sum_slots, rows, of_block, out,
                      [&](const ColumnSums<T, 1>& sums, std::int64_t row, int held) {
                        backward_row(block, slots, sums, row, held);
                      });
  }

  TRIAX_DEVICE void backward_row(const Block& block, float* slots, const ColumnSums<T, 1>& sums,
                                 std::int64_t row, int held) const {
    const auto columns = static_cast<int>(rows.dx.columns);
    const Gain<T, shifted> weight{rows.weight, offset};
    HeldGradient<T> of;
    of.template load<allowed>(block, rows, row, held);
    const float r = reciprocal_rms<T>(block, slots, of.x, held, columns, epsilon);
    float sum_gx = 0.0F;
    each_piece<T>(block, held, [&](int at, int column) {
      float x[wide<T>], dy[wide<T>], gain[wide<T>], product[wide<T>];
      of.x.get(x, at);
      of.dy.get(dy, at);
      weight.template load<allowed>(gain, column, columns);
      TRIAX_UNROLL
      for (int i = 0; i < wide<T>; ++i) {
        const float xhat = x[i] * r;
        product[i] = dy[i] * xhat;
        sum_gx += dy[i] * gain[i] * xhat;
      }
      sums.add(0, at, product);
    });
    row_sums<1>(block, slots, &sum_gx);
    const float mean_gx = sum_gx / static_cast<float>(columns);
    each_piece<T>(block, held, [&](int at, int column) {
      float x[wide<T>], dy[wide<T>], gain[wide<T>], skip[wide<T>];
      of.x.get(x, at);
      of.dy.get(dy, at);
      of.residual.get(skip, at);
      weight.template load<allowed>(gain, column, columns);
      TRIAX_UNROLL
      for (int i = 0; i < wide<T>; ++i) {
        const float g = rounded_product(dy[i], gain[i]);
        const float gradient = r * (g - x[i] * r * mean_gx);
        x[i] = rows.residual.data == nullptr ? gradient : gradient + skip[i];
      }
      of.x.set(at, x);
    });
    of.x.template store<allowed>(block, rows.dx[row], held);
  }
};

template <class T, class Input>
void forward(const Stream& stream, const Rows<T>& y, const Input& input, const Tensor& weight,
             float epsilon, float weight_offset) {
  const T* gain = device_elements<T>(weight, y.columns, "weight");
  const bool pieces = y.columns % wide<T> == 0 && aligned(y) && aligned(input) && aligned(gain);
  with_bool(pieces, [&]<bool allowed>(std::bool_constant<allowed>) {
    with_bool(weight_offset != 0.0F, [&]<bool shifted>(std::bool_constant<shifted>) {
      launch(stream, row_shape(y.rows, y.columns, row_part<T>),
             Forward<T, Input, allowed, shifted>{y, input, {gain, weight_offset}, epsilon});
    });
  });
}

}  // namespace

void rmsnorm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                     float epsilon, float weight_offset) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const StoredRows<T> in{device_rows<T>(x, "x")};
    forward(stream, device_rows_like(y, in.x, "y"), in, weight, epsilon, weight_offset);
  });
}

void residual_rmsnorm_forward(const Stream& stream, const Tensor& y, const Tensor& sum,
                              const Tensor& x, const Tensor& a, const Tensor& bias,
                              const Tensor& weight, float epsilon, float weight_offset) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const ResidualRows<T> in = residual_rows<T>(sum, x, a, bias);
    forward(stream, device_rows_like(y, in.sum, "y"), in, weight, epsilon, weight_offset);
  });
}

void rmsnorm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                      const Tensor& dy, const Tensor& residual, const Tensor& x,
                      const Tensor& weight, float epsilon, bool accumulate, Arena& scratch,
                      float weight_offset) {
  const ArenaScope scope(scratch);
  const std::int64_t columns = weight.elements();
  const std::int64_t blocks = gradient_blocks(dx.size(0));
  check(dweight.empty() || dweight.elements() == columns, "dweight of shape {} for {} columns",
        dweight.shape(), columns);
  float* partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  with_type(dx.dtype(), [&]<class T>(Type<T>) {
    const GradientRows<T> rows = gradient_rows<T>(dx, dy, residual, x, weight);
    with_bool(aligned(rows), [&]<bool allowed>(std::bool_constant<allowed>) {
      with_bool(weight_offset != 0.0F, [&]<bool shifted>(std::bool_constant<shifted>) {
        launch(stream, gradient_shape(rows.dx.rows, columns, row_part<T>, 1),
               Backward<T, allowed, shifted>{rows, weight_offset, partials, epsilon,
                                             gradient_rows(rows.dx.rows)});
      });
    });
  });
  add_partial_rows(stream, {dweight, partials}, blocks, accumulate);
}

}  // namespace triax::cuda
