// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/grouped.hpp"

#include "kernels/base/rows.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {

void scale_groups(const Stream& stream, const Tensor& values, const Tensor& zeros,
                  const Tensor& scales, const Tensor& groups) {
  check(stream.space() == MemorySpace::host, "packed weights on a device");
  const Rows<float> all = rows_of(values, "values");
  const Rows<float> zero = rows_of(zeros, "zeros");
  const Rows<float> scale = rows_like(scales, zero, "scales");
  const std::int32_t* group = elements_of<std::int32_t>(groups, all.rows, "groups");
  check(zero.columns == all.columns, "{} zero points of {} outputs", zero.columns, all.columns);
  parallel_for(all.rows, [=](std::int64_t i) {
    float* row = all[i];
    const float* z = zero[group[i]];
    const float* s = scale[group[i]];
#pragma omp simd
    for (std::int64_t o = 0; o < all.columns; ++o) row[o] = (row[o] - z[o]) * s[o];
  });
}

}  // namespace triax
