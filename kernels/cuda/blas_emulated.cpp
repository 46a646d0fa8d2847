// Products as they are described to a device's BLAS, in plain loops on the host: for tests.
#include <algorithm>
#include <vector>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/blas.hpp"
#include "kernels/cuda/emulated_device.hpp"

namespace triax::cuda {
namespace {

std::size_t place(const BlasOperand& operand, std::int64_t i, std::int64_t j) {
  return static_cast<std::size_t>(operand.transposed ? j + i * operand.stride
                                                     : i + j * operand.stride);
}

// What a BLAS asks of the stride of a matrix by columns, as it is stored.
void check_stride(const BlasOperand& operand, std::int64_t rows, std::int64_t columns) {
  const std::int64_t stored = operand.transposed ? columns : rows;
  check(operand.stride >= stored && stored >= 1, "a matrix with columns of {}, {} apart", stored,
        operand.stride);
}

template <class T, class D>
void multiply(const BlasProduct& x, D* d, const T* left, const T* right, const D* bias) {
  std::vector<float> column(static_cast<std::size_t>(x.rows));
  for (std::int64_t j = 0; j < x.columns; ++j) {
    std::fill(column.begin(), column.end(), 0.0F);
    for (std::int64_t k = 0; k < x.depth; ++k) {
      const float factor = right[place(x.right, k, j)];
      for (std::int64_t i = 0; i < x.rows; ++i)
        column[static_cast<std::size_t>(i)] += left[place(x.left, i, k)] * factor;
    }
    for (std::int64_t i = 0; i < x.rows; ++i) {
      D& to = d[place(x.d, i, j)];
      float sum = column[static_cast<std::size_t>(i)];
      if (x.accumulate) sum += to;
      if (bias != nullptr) sum += bias[i];
      to = D(sum);
    }
  }
}

}  // namespace

void blas_multiply(const Stream& stream, const BlasProduct& product, void* d, const void* left,
                   const void* right, const void* bias) {
  check_stride(product.left, product.rows, product.depth);
  check_stride(product.right, product.depth, product.columns);
  check_stride(product.d, product.rows, product.columns);
  check(!product.d.transposed && product.depth >= 1, "a product {}", product.text());
  check((bias != nullptr) == product.bias, "a bias that the description knows nothing of");
  emulator::enqueue(stream, [=] {
    with_types(product.type, product.d_type, [&]<class T, class D>(Type<T>, Type<D>) {
      multiply(product, static_cast<D*>(d), static_cast<const T*>(left),
               static_cast<const T*>(right), static_cast<const D*>(bias));
    });
  });
}

}  // namespace triax::cuda
