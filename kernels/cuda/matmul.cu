#include "kernels/matmul.hpp"

#include <algorithm>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/blas.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/matmul/product.hpp"

namespace triax::cuda {
namespace {

// c = sums + c + bias, those of them that there are.
template <class C, class B>
struct AddUp {
  Rows<C> c;
  const float* sums;  // rows of c's columns, or null
  const B* bias;      // or null
  bool accumulate;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float total[n] = {};
    float more[n];
    if (sums != nullptr) load<n>(total, sums + row * c.columns + column);
    if (accumulate) {
      load<n>(more, c[row] + column);
      TRIAX_UNROLL
      for (int i = 0; i < n; ++i) total[i] += more[i];
    }
    if (bias != nullptr) {
      load<n>(more, bias + column);
      TRIAX_UNROLL
      for (int i = 0; i < n; ++i) total[i] += more[i];
    }
    store<n>(c[row] + column, total);
  }
};

template <class C>
void add_up_rows(const Stream& stream, const Rows<C>& c, const Tensor& bias_row, const float* sums,
                 bool accumulate) {
  with_type(bias_row.dtype(), [&]<class B>(Type<B>) {
    const B* bias = bias_row.empty() ? nullptr : device_elements<B>(bias_row, c.columns, "bias");
    tiles<wide<C>>(stream, c.rows, c.columns, aligned(c) && aligned(bias),
                   AddUp<C, B>{c, sums, bias, accumulate});
  });
}

void add_up(const Stream& stream, const Tensor& c, const Tensor& bias, const float* sums,
            bool accumulate) {
  with_type(c.dtype(), [&]<class C>(Type<C>) {
    add_up_rows<C>(stream, device_rows<C>(c, "c"), bias, sums, accumulate);
  });
}

void multiply(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
              bool accumulate, const void* bias) {
  blas_multiply(stream, blas_product(c, a, b, accumulate, bias != nullptr), c.data(), b.data(),
                a.data(), bias);
}

// Through float32 sums, as many rows as the stream keeps memory for.
void multiply_into_sums(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                        const MatmulOptions& options) {
  const auto& memory =
      kept_by<Buffer>(stream, Kept::product_sums, product_sums_bytes, MemorySpace::device);
  const std::int64_t step = product_sums_rows(c.size(1));
  for (std::int64_t row = 0; row < c.size(0); row += step) {
    const std::int64_t rows = std::min(step, c.size(0) - row);
    const Tensor sums = memory.tensor(DType::f32, {rows, c.size(1)});
    multiply(stream, sums, a.slice(0, row, rows), b, false, nullptr);
    add_up(stream, c.slice(0, row, rows), options.bias, sums.as<float>(), options.accumulate);
  }
}

}  // namespace

void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  gemm::check_arguments(c, a, b, options.bias, MemorySpace::device);
  if (c.elements() == 0) return;
  const ProductSteps steps = product_steps(c, a.size(1), options);
  if (steps.multiply == ProductSteps::Multiply::into_sums)
    return multiply_into_sums(stream, c, a, b, options);
  const bool into_c = steps.multiply == ProductSteps::Multiply::into_c;
  if (into_c)
    multiply(stream, c, a, b, options.accumulate,
             steps.bias_in_product ? options.bias.data() : nullptr);
  if (steps.finish) add_up(stream, c, options.bias, nullptr, into_c || options.accumulate);
}

}  // namespace triax::cuda
