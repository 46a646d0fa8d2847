// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/convert_weights.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/activation/elementwise.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/optimizer/grad_norm.hpp"

namespace triax {
namespace {

constexpr float first_beyond = 65520.0F;  // smallest value that rounds to infinity in float16

bool all_finite(const Tensor& values) {
  double squares = 0.0;
  add_sum_of_squares(Stream{}, Tensor(&squares, {1}), values);
  return std::isfinite(squares);
}

// Whether finite values become infinite in float16.
bool overflows(const Tensor& values) {
  return with_type(values.dtype(), [&]<class T>(Type<T>) {
    return std::any_of(values.as<T>(), values.as<T>() + values.elements(), [](T element) {
      const auto value = static_cast<float>(element);
      return std::isfinite(value) && std::abs(value) >= first_beyond;
    });
  });
}

}  // namespace

void convert_weights(const std::string& tensor, const Tensor& out, const Tensor& values) {
  convert(Stream{}, out, values);
  if (out.dtype() != DType::f16 || all_finite(out)) return;
  if (!overflows(values)) return;
  throw Error(fmt::format("{} has values that float16 cannot hold", tensor),
              "they are larger than 65504", "Choose --dtype bf16 or f32");
}

}  // namespace triax
