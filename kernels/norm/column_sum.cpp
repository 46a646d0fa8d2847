// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/column_sum.hpp"

#include "kernels/base/device/arena.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/launch/launch_shape.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {
constexpr std::int64_t tile = 256;  // columns per task; their sums stay in L1
}

std::int64_t norm_blocks(std::int64_t rows, MemorySpace space) {
  return space == MemorySpace::device ? cuda::gradient_blocks(rows) : row_blocks(rows);
}

std::size_t column_sum_bytes(std::int64_t blocks, std::int64_t columns) {
  Arena measure;
  measure.take("column sums", DType::f32, {blocks, columns});
  return measure.used();
}

void add_partial_rows(const Tensor& out, const float* partials, std::int64_t blocks,
                      bool accumulate) {
  if (out.empty()) return;
  const std::int64_t columns = out.elements();
  with_type(out.dtype(), [&]<class G>(Type<G>) {
    G* to = elements_of<G>(out, columns, "out");
    parallel_for_blocks(columns, tile, [=](std::int64_t begin, std::int64_t end) {
      double sums[tile];
      const std::int64_t count = end - begin;
      for (std::int64_t c = 0; c < count; ++c)
        sums[c] = accumulate ? double{float{to[begin + c]}} : 0.0;
      for (std::int64_t b = 0; b < blocks; ++b) {
        const float* row = partials + b * columns + begin;
#pragma omp simd
        for (std::int64_t c = 0; c < count; ++c) sums[c] += static_cast<double>(row[c]);
      }
      for (std::int64_t c = 0; c < count; ++c) to[begin + c] = static_cast<float>(sums[c]);
    });
  });
}

}  // namespace triax
