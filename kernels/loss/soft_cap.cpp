// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss/soft_cap.hpp"

#include <algorithm>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/loss/logit_cap.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {
constexpr std::int64_t piece = 8192;  // logits of a row per parallel task: generation has few rows
}

void soft_cap(const Stream& stream, const Tensor& logits, float cap) {
  if (on_device(stream)) return cuda::soft_cap(stream, logits, cap);
  check(cap > 0.0F, "a soft cap of {}", cap);
  with_type(logits.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> rows = rows_of<T>(logits, "logits");
    const std::int64_t pieces = (rows.columns + piece - 1) / piece;
    const SoftCap capped{cap};
    parallel_for(rows.rows * pieces, [=](std::int64_t task) {
      T* row = rows[task / pieces];
      const std::int64_t begin = task % pieces * piece;
      for_vectors(begin, std::min(rows.columns, begin + piece), [=](std::int64_t c, auto lanes) {
        lanes.store(row + c, capped(lanes.stream(row + c)));
      });
    });
  });
}

}  // namespace triax
