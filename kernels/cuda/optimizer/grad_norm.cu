// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/grad_norm.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "kernels/cuda/launch/views.hpp"
#include "kernels/cuda/norm/row_sum.hpp"

namespace triax::cuda {
namespace {

static_assert(max_sum_parts * sizeof(double) <= stream_scratch_bytes);

struct Itself {
  TRIAX_DEVICE double operator()(float value) const { return static_cast<double>(value); }
};
struct Square {
  TRIAX_DEVICE double operator()(float value) const {
    return static_cast<double>(value) * static_cast<double>(value);
  }
};

// parts[b] = the sum of Term over the elements of CUDA block b. Threads take turns over the
// elements.
template <class T, class Term, bool allowed>
struct SumParts {
  static constexpr int max_threads = 256;
  double* parts;
  const T* x;
  std::int64_t n;
  std::int64_t blocks;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const Term term;
    double sum = 0.0;
    each_in_turn<allowed>(block, blocks, x, n, [&](float value) { sum += term(value); });
    row_sums<1>(block, block.shared<double>(), &sum);
    if (block.thread_x() == 0) parts[block.index_x()] = sum;
  }
};

struct AddParts {
  static constexpr int max_threads = max_sum_parts;
  double* total;
  const double* parts;
  std::int64_t count;

  TRIAX_DEVICE void operator()(const Block& block) const {
    double sum = block.thread_x() < count ? parts[block.thread_x()] : 0.0;
    row_sums<1>(block, block.shared<double>(), &sum);
    if (block.thread_x() == 0) *total += sum;
  }
};

template <class Term>
void add_terms(const Stream& stream, const Tensor& total, const Tensor& x) {
  double* to = device_elements<double>(total, 1, "total");
  const std::int64_t n = x.elements();
  auto* parts = static_cast<double*>(memory_of(stream, Kept::scratch).data());
  std::int64_t count = 0;
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const T* data = device_elements<T>(x, n, "x");
    const LaunchShape shape = sum_shape(n, wide<T>);
    count = shape.blocks_x;
    with_bool(aligned(data), [&]<bool allowed>(std::bool_constant<allowed>) {
      launch(stream, shape, SumParts<T, Term, allowed>{parts, data, n, count});
    });
  });
  if (count > 0) launch(stream, parts_shape(), AddParts{to, parts, count});
}

struct ClipFactor {
  float* factor;
  const double* sums;
  ClipRule rule;

  template <int>
  TRIAX_DEVICE void run(std::int64_t) const {
    if (*factor == *factor) *factor = rule.factor(rule.norm(sums[0], sums[1]));
  }
};

}  // namespace

void add_sum(const Stream& stream, const Tensor& total, const Tensor& x) {
  add_terms<Itself>(stream, total, x);
}

void add_sum_of_squares(const Stream& stream, const Tensor& total, const Tensor& x) {
  add_terms<Square>(stream, total, x);
}

void clip_factor(const Stream& stream, const Tensor& factor, const Tensor& sums,
                 const ClipRule& rule) {
  pointwise<1>(stream, 1, true,
               ClipFactor{device_elements(factor, 1, "factor"),
                          device_elements<double>(sums, 2, "sums"), rule});
}

}  // namespace triax::cuda
