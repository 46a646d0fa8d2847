// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/matmul.hpp"

#include "kernels/activation/elementwise.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/matmul/product.hpp"

namespace triax {
namespace {

void check_types(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const DType type = a.dtype();
  check(type == DType::f32 || type == DType::bf16 || type == DType::f16, "matmul of {}",
        name_of(type));
  check(b.dtype() == type && (c.dtype() == type || c.dtype() == DType::f32),
        "matmul of {} and {} into {}", name_of(type), name_of(b.dtype()), name_of(c.dtype()));
  check(bias.empty() || bias.dtype() == type || bias.dtype() == DType::f32,
        "a bias of {} for a product of {}", name_of(bias.dtype()), name_of(type));
}

void check_bias(const Tensor& c, const Tensor& bias, MemorySpace space) {
  if (bias.data() == nullptr) return;
  check(bias.space() == space, "a bias elsewhere than its product");
  check(bias.rank() == 1 && bias.size(0) == c.size(1) && bias.contiguous(), "a bias of {} for {}",
        bias.shape(), c.shape());
}

// GELU's kernels require contiguous memory of one type.
void check_gelu(const Tensor& c, const Tensor& a, const MatmulOptions& options) {
  if (options.gelu_input.empty() && options.gelu_gradient.input.empty()) return;
  check(!options.accumulate, "GELU of a product that is added to c");
  check(options.gelu_input.empty() || options.gelu_gradient.input.empty(),
        "GELU and its gradient of one product");
  check(options.gelu_gradient.input.empty() || options.bias.empty(),
        "a bias behind the gradient of GELU");
  check(c.dtype() == a.dtype() && c.contiguous(), "GELU of a product of {} into {}",
        name_of(a.dtype()), name_of(c.dtype()));
  for (const Tensor* t :
       {&options.gelu_input, &options.gelu_gradient.input, &options.gelu_gradient.output})
    check(t->empty() || (t->shape() == c.shape() && t->dtype() == c.dtype() && t->contiguous() &&
                         t->space() == c.space()),
          "GELU's {} of {} beside a product {}", t->shape(), name_of(t->dtype()), c.shape());
}

void check_bias_gradient(const Tensor& a, const Tensor& b, const BiasGradient& gradient,
                         MemorySpace space) {
  if (gradient.sums.empty()) return;
  check(gradient.scratch != nullptr, "the gradient of a bias without scratch");
  check(gradient.sums.space() == space, "the gradient of a bias elsewhere than its product");
  const std::int64_t size = gradient.of == BiasGradient::Of::a ? a.size(0) : b.size(1);
  check(gradient.sums.rank() == 1 && gradient.sums.size(0) == size && gradient.sums.contiguous(),
        "the gradient of a bias of {} and not ({})", gradient.sums.shape(), size);
  const Tensor rows = gemm::bias_gradient_rows(gradient, a, b);
  check(rows.size(1) <= 1 || rows.stride(1) == 1, "the gradient of a bias from columns {} apart",
        rows.stride(1));
}

}  // namespace

void gemm::check_arguments(const Tensor& c, const Tensor& a, const Tensor& b,
                           const MatmulOptions& options, MemorySpace space) {
  check(c.rank() == 2 && a.rank() == 2 && b.rank() == 2, "matmul of {} and {} into {}", a.shape(),
        b.shape(), c.shape());
  check(a.size(1) == b.size(0) && c.size(0) == a.size(0) && c.size(1) == b.size(1),
        "matmul of {} and {} into {}", a.shape(), b.shape(), c.shape());
  check_types(c, a, b, options.bias);
  for (const Tensor* t : {&c, &a, &b})
    check(t->space() == space, "matmul of memory elsewhere than its stream");
  for (const Tensor* t : {&a, &b})
    check(t->elements() == 0 || t->size(0) == 1 || t->size(1) == 1 || t->stride(0) == 1 ||
              t->stride(1) == 1,
          "matmul of a view with strides {} and {}", t->stride(0), t->stride(1));
  check(c.size(1) <= 1 || c.stride(1) == 1, "matmul into columns {} apart", c.stride(1));
  check_bias(c, options.bias, space);
  check_gelu(c, a, options);
  check_bias_gradient(a, b, options.bias_gradient, space);
}

namespace {

// A sum over nothing: c, or zero without `accumulate`, plus the bias.
template <class C, class Bias>
void empty_product(const Tensor& c, const Tensor& bias_row, bool accumulate) {
  const Bias* bias = bias_row.empty() ? nullptr : bias_row.as<Bias>();
  for (std::int64_t row = 0; row < c.size(0); ++row) {
    C* out = c.as<C>() + row * c.stride(0);
    for (std::int64_t column = 0; column < c.size(1); ++column)
      out[column] = static_cast<C>((accumulate ? static_cast<float>(out[column]) : 0.0F) +
                                   (bias != nullptr ? static_cast<float>(bias[column]) : 0.0F));
  }
}

void empty_product(const gemm::Operands& x) {
  with_type(x.c.dtype(), [&]<class C>(Type<C>) {
    with_type(x.bias.dtype(),
              [&]<class Bias>(Type<Bias>) { empty_product<C, Bias>(x.c, x.bias, x.accumulate); });
  });
}

void product(const gemm::Operands& x) {
  if (x.c.elements() == 0) return;
  if (x.a.size(1) == 0) return empty_product(x);
  if (gemm::blocked_product(x)) return;
  check(x.a.dtype() != DType::f32, "oneDNN has no product of {} and {} into {}", x.a.shape(),
        x.b.shape(), x.c.shape());
  gemm::widened_product(x);
}

}  // namespace

std::int64_t matmul_block_bytes(DType type, std::int64_t longest) {
  return gemm::vendor_multiplies(type) ? 0 : gemm::widened_product_bytes(longest);
}

void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  if (on_device(stream)) return cuda::matmul(stream, c, a, b, options);
  check(stream.space() == MemorySpace::host, "matmul of the host on a stream elsewhere");
  gemm::check_arguments(c, a, b, options, MemorySpace::host);
  const Tensor& input = options.gelu_input;
  product({input.empty() ? c : input, a, b, options.bias, options.accumulate});
  if (!input.empty()) gelu_forward(stream, c, input);
  const GeluGradient& gelu = options.gelu_gradient;
  if (!gelu.input.empty()) gelu_backward(stream, c, gelu.output, c, gelu.input);
  const BiasGradient& bias = options.bias_gradient;
  if (!bias.sums.empty())
    bias_backward(stream, bias.sums, gemm::bias_gradient_rows(bias, a, b), bias.accumulate,
                  *bias.scratch);
}

}  // namespace triax
