#include "kernels/norm.hpp"

#include <algorithm>

#include "kernels/base/lane_sum.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"

namespace triax {
namespace {

// Partial sums of a tensor. Their number is fixed, so that they need no scratch and no thread count
// shows in the result; it bounds how many cores take part.
constexpr std::int64_t parts = 256;

// term(i) summed over [0, n) in double.
template <class Term>
double sum_in_parts(std::int64_t n, const Term& term) {
  double partial[parts] = {};
  double* sums = partial;
  const std::int64_t length = (n + parts - 1) / parts;
  parallel_for(parts, [=](std::int64_t part) {
    const std::int64_t begin = std::min(n, part * length);
    const std::int64_t end = std::min(n, begin + length);
    sums[part] = lane_sum<double>(end - begin, [&](std::int64_t i) { return term(begin + i); });
  });
  double total = 0.0;
  for (const double value : partial) total += value;
  return total;
}

}  // namespace

double sum(const Stream& stream, const Tensor& values) {
  const float* data = elements_of(values, values.elements(), "values");
  stream.synchronize();
  return sum_in_parts(values.elements(),
                      [=](std::int64_t i) { return static_cast<double>(data[i]); });
}

double sum_of_squares(const Stream& stream, const Tensor& x) {
  const float* data = elements_of(x, x.elements(), "x");
  stream.synchronize();
  return sum_in_parts(x.elements(), [=](std::int64_t i) {
    const auto value = static_cast<double>(data[i]);
    return value * value;
  });
}

}  // namespace triax
