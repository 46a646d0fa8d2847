#include "kernels/matmul.hpp"

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

}  // namespace

void gemm::check_arguments(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor& bias,
                           MemorySpace space) {
  check(c.rank() == 2 && a.rank() == 2 && b.rank() == 2, "matmul of {} and {} into {}", a.shape(),
        b.shape(), c.shape());
  check(a.size(1) == b.size(0) && c.size(0) == a.size(0) && c.size(1) == b.size(1),
        "matmul of {} and {} into {}", a.shape(), b.shape(), c.shape());
  check_types(c, a, b, bias);
  for (const Tensor* t : {&c, &a, &b})
    check(t->space() == space, "matmul of memory elsewhere than its stream");
  for (const Tensor* t : {&a, &b})
    check(t->elements() == 0 || t->size(0) == 1 || t->size(1) == 1 || t->stride(0) == 1 ||
              t->stride(1) == 1,
          "matmul of a view with strides {} and {}", t->stride(0), t->stride(1));
  check(c.size(1) <= 1 || c.stride(1) == 1, "matmul into columns {} apart", c.stride(1));
  if (bias.data() == nullptr) return;
  check(bias.space() == space, "a bias elsewhere than its product");
  check(bias.rank() == 1 && bias.size(0) == c.size(1) && bias.contiguous(), "a bias of {} for {}",
        bias.shape(), c.shape());
}

namespace {

// A sum over nothing: c (or zero) and the bias.
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

void empty_product(const Tensor& c, const MatmulOptions& options) {
  with_type(c.dtype(), [&]<class C>(Type<C>) {
    with_type(options.bias.dtype(), [&]<class Bias>(Type<Bias>) {
      empty_product<C, Bias>(c, options.bias, options.accumulate);
    });
  });
}

}  // namespace

void matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
            const MatmulOptions& options) {
  if (on_device(stream)) return cuda::matmul(stream, c, a, b, options);
  check(stream.space() == MemorySpace::host, "matmul of the host on a stream elsewhere");
  gemm::check_arguments(c, a, b, options.bias, MemorySpace::host);
  if (c.elements() == 0) return;
  if (a.size(1) == 0) return empty_product(c, options);
  const gemm::Operands operands{c, a, b, options.bias, options.accumulate};
  if (gemm::vendor_product(operands)) return;
  check(a.dtype() != DType::f32, "oneDNN has no product of {} and {} into {}", a.shape(), b.shape(),
        c.shape());
  gemm::widened_product(operands);
}

}  // namespace triax
