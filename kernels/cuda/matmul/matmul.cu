// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/matmul.hpp"

#include <algorithm>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/matmul/blas.hpp"
#include "kernels/matmul/product.hpp"

namespace triax::cuda {
namespace {

// c = sums + c + bias, as far as they are given.
template <class C, class B>
struct AddUp {
  Rows<C> c;
  const float* sums;  // (rows, columns), or null
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

bool multiply(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
              bool accumulate, const EpilogueOperands& with = {}) {
  return blas_multiply(stream, blas_product(c, a, b, accumulate, with),
                       {c.data(), b.data(), a.data(), with.bias.data(), with.aux.data()});
}

// Computes the product through float32 sums, as many rows at a time as the stream has memory for.
void multiply_into_sums(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                        const MatmulOptions& options) {
  const Memory& memory = memory_of(stream, Kept::product_sums);
  const std::int64_t step = product_sums_rows(c.size(1));
  for (std::int64_t row = 0; row < c.size(0); row += step) {
    const std::int64_t rows = std::min(step, c.size(0) - row);
    const Tensor sums = memory.tensor(DType::f32, {rows, c.size(1)});
    multiply(stream, sums, a.slice(0, row, rows), b, false);
    add_up(stream, c.slice(0, row, rows), options.bias, sums.as<float>(), options.accumulate);
  }
}

// The product by cuBLASLt, with the epilogue that `steps` names. Returns false, and does nothing,
// if cuBLASLt has no algorithm for it. to: c, or GELU's input.
bool multiply(const Stream& stream, const Tensor& to, const Tensor& c, const Tensor& a,
              const Tensor& b, const MatmulOptions& options, const ProductSteps& steps) {
  switch (steps.epilogue) {
    case BlasEpilogue::none:
      return multiply(stream, to, a, b, options.accumulate);
    case BlasEpilogue::bias:
      return multiply(stream, to, a, b, options.accumulate, {steps.epilogue, options.bias});
    case BlasEpilogue::gelu:
    case BlasEpilogue::gelu_bias:
      return multiply(stream, c, a, b, false, {steps.epilogue, options.bias, options.gelu_input});
    case BlasEpilogue::gelu_gradient:
      if (!multiply(stream, c, a, b, false, {steps.epilogue, {}, options.gelu_gradient.input}))
        return false;
      if (const GeluGradient& gelu = options.gelu_gradient; !gelu.output.empty())
        cuda::gelu_forward(stream, gelu.output, gelu.input);
      return true;
  }
  return false;
}

// The rest of the steps, by our own kernels.
void finish(const Stream& stream, const Tensor& to, const Tensor& c, const Tensor& a,
            const Tensor& b, const MatmulOptions& options, const ProductSteps& steps) {
  if (steps.finish && steps.multiply != ProductSteps::Multiply::into_sums)
    add_up(stream, to, options.bias, nullptr,
           steps.multiply == ProductSteps::Multiply::into_c || options.accumulate);
  const GeluGradient& gelu = options.gelu_gradient;
  if (steps.gelu && !options.gelu_input.empty()) cuda::gelu_forward(stream, c, to);
  if (steps.gelu && !gelu.input.empty()) cuda::gelu_backward(stream, c, gelu.output, c, gelu.input);
  const BiasGradient& bias = options.bias_gradient;
  if (steps.bias_gradient)
    cuda::bias_backward(stream, bias.sums, gemm::bias_gradient_rows(bias, a, b), bias.accumulate,
                        *bias.scratch);
}

}  // namespace

void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  gemm::check_arguments(c, a, b, options, MemorySpace::device);
  const Tensor& to = options.gelu_input.empty() ? c : options.gelu_input;
  ProductSteps steps = product_steps(to, a, options);
  if (c.elements() > 0) {
    if (steps.multiply == ProductSteps::Multiply::into_sums)
      multiply_into_sums(stream, to, a, b, options);
    else if (steps.multiply == ProductSteps::Multiply::into_c &&
             !multiply(stream, to, c, a, b, options, steps)) {
      steps = product_steps(to, a, options, false);
      multiply(stream, to, c, a, b, options, steps);
    }
  } else {
    steps = {.bias_gradient = !options.bias_gradient.sums.empty()};
  }
  finish(stream, to, c, a, b, options, steps);
}

}  // namespace triax::cuda
