// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss/soft_cap.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/loss/logit_cap.hpp"

namespace triax::cuda {
namespace {

template <class T>
struct CapRows {
  Rows<T> logits;
  SoftCap cap;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float values[n];
    load<n>(values, logits[row] + column);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) values[i] = cap(values[i]);
    store<n>(logits[row] + column, values);
  }
};

}  // namespace

void soft_cap(const Stream& stream, const Tensor& logits, float cap) {
  with_type(logits.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> rows = device_rows<T>(logits, "logits");
    tiles<wide<T>>(stream, rows.rows, rows.columns, aligned(rows), CapRows<T>{rows, SoftCap(cap)});
  });
}

}  // namespace triax::cuda
