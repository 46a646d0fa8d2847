// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/wide.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax::gemm {
namespace {

template <class To, class From>
void convert_rows(const Tensor& to, const Tensor& from) {
  To* const out = to.as<To>();
  const From* const in = from.as<From>();
  const std::int64_t columns = to.size(1);
  const std::int64_t out_stride = to.stride(0);
  const std::int64_t in_stride = from.stride(0);
  parallel_for(to.size(0), [=](std::int64_t row) {
    To* const out_row = out + row * out_stride;
    const From* const in_row = in + row * in_stride;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) out_row[i] = static_cast<float>(in_row[i]);
  });
}

}  // namespace

void widen(const Tensor& to, const Tensor& from) {
  with_type(from.dtype(), [&]<class T>(Type<T>) { convert_rows<float, T>(to, from); });
}
void narrow(const Tensor& to, const Tensor& from) {
  with_type(to.dtype(), [&]<class T>(Type<T>) { convert_rows<T, float>(to, from); });
}

Tensor matrix_in(Buffer& memory, std::int64_t rows, std::int64_t columns) {
  const auto bytes = static_cast<std::size_t>(rows * columns) * sizeof(float);
  if (memory.bytes() < bytes) memory = Buffer(bytes);
  return memory.tensor(DType::f32, {rows, columns});
}

}  // namespace triax::gemm
