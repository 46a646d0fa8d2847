#include "src/train/convert_weights.hpp"

#include <cmath>

#include "kernels/base/check.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/norm.hpp"

namespace triax {
namespace {

bool all_finite(const Tensor& values) {
  double squares = 0.0;
  add_sum_of_squares(Stream{}, Tensor(&squares, {1}), values);
  return std::isfinite(squares);
}

}  // namespace

void convert_weights(const std::string& tensor, const Tensor& out, const Tensor& values) {
  convert(Stream{}, out, values);
  if (out.dtype() != DType::f16 || all_finite(out) || !all_finite(values)) return;
  throw Error(fmt::format("{} has values that float16 cannot hold", tensor),
              "they are larger than 65504", "Choose --dtype bf16 or f32");
}

}  // namespace triax
