#include "kernels/norm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/lane_sum.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"

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

void add_sum(const Stream& stream, const Tensor& total, const Tensor& x) {
  if (on_device(stream)) return cuda::add_sum(stream, total, x);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const T* data = elements_of<T>(x, x.elements(), "x");
    *elements_of<double>(total, 1, "total") +=
        sum_in_parts(x.elements(), [=](std::int64_t i) { return double{float{data[i]}}; });
  });
}

void add_sum_of_squares(const Stream& stream, const Tensor& total, const Tensor& x) {
  if (on_device(stream)) return cuda::add_sum_of_squares(stream, total, x);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const T* data = elements_of<T>(x, x.elements(), "x");
    *elements_of<double>(total, 1, "total") += sum_in_parts(x.elements(), [=](std::int64_t i) {
      const double value = float{data[i]};
      return value * value;
    });
  });
}

void clip_factor(const Stream& stream, const Tensor& factor, const Tensor& sums,
                 const ClipRule& rule) {
  if (on_device(stream)) return cuda::clip_factor(stream, factor, sums, rule);
  const double* of = elements_of<double>(sums, 2, "sums");
  float* to = elements_of(factor, 1, "factor");
  if (!std::isnan(*to)) *to = rule.factor(rule.norm(of[0], of[1]));
}

}  // namespace triax
