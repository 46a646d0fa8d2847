// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss/cross_entropy.hpp"

#include <algorithm>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/pair_kernels.hpp"
#include "kernels/loss/logit_cap.hpp"
#include "kernels/loss/softmax_shards.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/coarse_math.hpp"

namespace triax {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t nowhere = -1;       // column of a label that is ignored
constexpr std::int64_t stats_per_row = 3;  // maximum, sum of exponentials, logit of the label

// Hugging Face ignores labels of -100; padded rows have -1.
constexpr bool ignored(std::int32_t label) {
  return label < 0;
}

struct SoftmaxSum {
  float largest = -infinity;
  double sum = 0.0;  // of exp(x - largest)
};

template <class T>
float maximum(const T* row, std::int64_t columns) {
  FloatVector largest = FloatVector{} - infinity;
  for_vectors(0, columns, [&](std::int64_t c, auto lanes) {
    largest = larger(lanes.only(lanes.load(row + c), -infinity), largest);
  });
  return largest_lane(largest);
}

struct RunOfRow {
  float largest;
  float sum;  // of exp(x - shift)
};

// Exponents t with 2^t = e^(x - shift). t is exactly 0 if x is shift, however large. NaN stays.
template <int n>
[[gnu::always_inline]] inline VectorGroup<n> binary_exponents(const VectorGroup<n>& x,
                                                              float shift) {
  return at_least(-coarse_limit, (x - shift) * std::numbers::log2e_v<float>);
}

template <class T, class Cap>
RunOfRow sum_run(const T* run, std::int64_t count, float shift, const Cap& cap) {
  FloatVector largest = FloatVector{} - infinity;
  if constexpr (!std::is_same_v<T, float>) {
    // These exponentials have errors of 4e-6, a hundredth of what the logits' own rounding causes.
    const float sum = sum_of_powers(count, [&](std::int64_t c, auto lanes) {
      const auto logits = cap(lanes.stream(run + c));
      largest = lanes.larger_of(largest, logits);
      return binary_exponents(logits, shift);
    });
    return {largest_lane(largest), sum};
  } else {
    const float sum = vector_sum(count, [&](std::int64_t c, auto lanes) {
      const FloatVector logits = cap(lanes.stream(run + c));
      largest = larger(lanes.only(logits, -infinity), largest);
      return fast_exp_flushed(logits - shift);
    });
    return {largest_lane(largest), sum};
  }
}

// One pass over a row. Exponentials are relative to `shift`, the maximum of the first 2048 logits
// or of the first section with a finite one. It moves to the maximum of a later section that
// exceeds it by so much that the exponentials could leave float's range. Sums are float within a
// section and double across sections: a vocabulary is long enough for float sums to drift.
template <class T, class Cap>
SoftmaxSum softmax_sum(const T* row, std::int64_t columns, const Cap& cap) {
  constexpr std::int64_t length = std::is_same_v<T, float> ? 2048 : 8192;
  constexpr float far_above = 60.0F;
  const auto finite = [](float largest) { return largest == -infinity ? 0.0F : largest; };
  SoftmaxSum so_far;
  float shift = finite(cap(maximum(row, std::min<std::int64_t>(2048, columns))));
  for (std::int64_t begin = 0; begin < columns; begin += length) {
    const std::int64_t count = std::min(length, columns - begin);
    RunOfRow run = sum_run(row + begin, count, shift, cap);
    const bool first = so_far.largest == -infinity && run.largest < shift;
    if (run.largest > shift + far_above || (first && run.largest > -infinity)) {
      if (!first) so_far.sum *= std::exp(double{shift} - double{run.largest});
      shift = run.largest;
      run = sum_run(row + begin, count, shift, cap);
    }
    so_far.largest = std::max(so_far.largest, run.largest);
    so_far.sum += static_cast<double>(run.sum);
  }
  so_far.sum *= std::exp(static_cast<double>(shift) - static_cast<double>(finite(so_far.largest)));
  // The largest logit alone contributes 1; its coarse exponential relative to `shift` may give
  // less.
  if (so_far.largest > -infinity && so_far.sum < 1.0) so_far.sum = 1.0;
  return so_far;
}

// Factors of a row's gradient.
struct RowScale {
  float softmax, label;
};

// row = scale.softmax * softmax - scale.label * onehot(label). `label` may lie outside the row.
template <class T>
void backward_row(T* row, std::int64_t columns, std::int64_t label, float lse, RowScale scale,
                  NoCap) {
  const bool here = label >= 0 && label < columns;
  const float label_logit = here ? float{row[label]} : 0.0F;
  if constexpr (std::is_same_v<T, float>)
    for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
      lanes.store(row + c, scale.softmax * fast_exp_flushed(lanes.stream(row + c) - lse));
    });
  else
    for_staged_vectors<4>(
        0, columns,
        [=](std::int64_t c, auto lanes) { return binary_exponents(lanes.stream(row + c), lse); },
        [=](const auto& t) { return coarse_exp2(t, scale.softmax); },
        [=](std::int64_t c, const auto& e, auto lanes) {
          lanes.write(row + c, e.fraction * e.power, false);
        });
  if (!here) return;
  // In 16 bits the softmax is not read back from the row: rounded near 1, it would cancel.
  const float softmax =
      std::is_same_v<T, float> ? float{row[label]} : scale.softmax * fast_exp(label_logit - lse);
  row[label] = softmax - scale.label;
}

// The same under a soft cap, times the derivative of the capped logits by the stored ones.
template <class T>
void backward_row(T* row, std::int64_t columns, std::int64_t label, float lse, RowScale scale,
                  const SoftCap& cap) {
  const bool here = label >= 0 && label < columns;
  const ValueAndSlope<float> of_label = cap.with_slope(here ? float{row[label]} : 0.0F);
  for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
    const ValueAndSlope<FloatVector> logit = cap.with_slope(lanes.stream(row + c));
    const FloatVector softmax = fast_exp_flushed(logit.value - lse);
    lanes.store(row + c, scale.softmax * softmax * logit.slope);
  });
  if (!here) return;
  const float softmax = fast_exp_flushed(of_label.value - lse);
  row[label] = (scale.softmax * softmax - scale.label) * of_label.slope;
}

// Writes a row's statistics in float, as shards exchange them.
template <class T, class Cap>
void write_stats(float* to, const T* row, std::int64_t columns, std::int64_t label,
                 const Cap& cap) {
  const SoftmaxSum softmax = softmax_sum(row, columns, cap);
  to[0] = softmax.largest;
  to[1] = static_cast<float>(softmax.sum);
  to[2] = label >= 0 && label < columns ? cap(float{row[label]}) : 0.0F;
}

// Gradient of a stored row; its padding becomes zero.
template <class T, class Cap>
void gradient_of_row(T* row, std::int64_t columns, std::int64_t stored, std::int64_t label,
                     float lse, RowScale scale, const Cap& cap) {
  backward_row(row, columns, label, lse, scale, cap);
  std::fill(row + columns, row + stored, T{});
}

template <class T>
void check_columns(const Rows<T>& logits, std::int64_t columns) {
  check(columns >= 0 && columns <= logits.columns, "{} real columns of {} logits", columns,
        logits.columns);
}

// Gradient of all rows; `factors`: see scaled_cross_entropy_backward(), empty: 1.
void backward_rows(const Tensor& logits, const Tensor& lse, const Tensor& labels,
                   std::int64_t first_token, std::int64_t columns, float scale,
                   const LogitOptions& options, const Tensor& factors) {
  with_type(logits.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(logits, "logits");
    check_columns(out, columns);
    const std::int32_t* label = elements_of<std::int32_t>(labels, out.rows, "labels");
    const float* sums = elements_of(lse, out.rows, "lse");
    const float* of_rows = factors.empty() ? nullptr : elements_of(factors, out.rows, "factors");
    const float z = options.z_coefficient;
    with_cap(options.soft_cap, [&](auto cap) {
      parallel_for(out.rows, [=](std::int64_t r) {
        T* row = out[r];
        if (ignored(label[r])) {
          std::fill_n(row, out.columns, T{});
          return;
        }
        const float of_row = of_rows == nullptr ? scale : scale * of_rows[r];
        gradient_of_row(row, columns, out.columns, label[r] - first_token, sums[r],
                        {softmax_factor(of_row, sums[r], z), of_row}, cap);
      });
    });
  });
}

}  // namespace

void cross_entropy(const Stream& stream, const Tensor& loss, const Tensor& logits,
                   const Tensor& labels, std::int64_t columns, float scale,
                   const LogitOptions& options) {
  if (on_device(stream))
    return cuda::cross_entropy(stream, loss, logits, labels, columns, scale, options);
  with_type(logits.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(logits, "logits");
    check_columns(out, columns);
    const std::int32_t* label = elements_of<std::int32_t>(labels, out.rows, "labels");
    float* losses = elements_of(loss, out.rows, "loss");
    const float z = options.z_coefficient;
    with_cap(options.soft_cap, [&](auto cap) {
      parallel_for(out.rows, [=](std::int64_t r) {
        T* row = out[r];
        losses[r] = 0.0F;
        if (ignored(label[r])) {
          std::fill_n(row, out.columns, T{});
          return;
        }
        float stats[stats_per_row];
        write_stats(stats, row, columns, label[r], cap);
        const MergedRow whole = merge_shards(stats, 1, 0);
        const auto lse = static_cast<float>(whole.lse);
        losses[r] = static_cast<float>(loss_of(whole, z));
        gradient_of_row(row, columns, out.columns, label[r], lse,
                        {softmax_factor(scale, lse, z), scale}, cap);
      });
    });
  });
}

void cross_entropy_stats(const Stream& stream, const Tensor& stats, const Tensor& logits,
                         const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                         const LogitOptions& options) {
  if (on_device(stream))
    return cuda::cross_entropy_stats(stream, stats, logits, labels, first_token, columns, options);
  with_type(logits.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> in = rows_of<T>(logits, "logits");
    check_columns(in, columns);
    const std::int32_t* label = elements_of<std::int32_t>(labels, in.rows, "labels");
    float* out = elements_of(stats, in.rows * stats_per_row, "stats");
    with_cap(options.soft_cap, [&](auto cap) {
      parallel_for(in.rows, [=](std::int64_t r) {
        const std::int64_t local = ignored(label[r]) ? nowhere : label[r] - first_token;
        write_stats(out + r * stats_per_row, in[r], columns, local, cap);
      });
    });
  });
}

void cross_entropy_loss(const Stream& stream, const Tensor& loss, const Tensor& lse,
                        const Tensor& stats, const Tensor& labels, const LogitOptions& options) {
  if (on_device(stream)) return cuda::cross_entropy_loss(stream, loss, lse, stats, labels, options);
  const std::int64_t rows = labels.elements();
  check(stats.rank() == 3 && stats.size(1) == rows && stats.size(2) == stats_per_row,
        "stats of shape {} for {} rows", stats.shape(), rows);
  const std::int64_t shards = stats.size(0);
  const float* in = elements_of(stats, shards * rows * stats_per_row, "stats");
  const std::int32_t* label = elements_of<std::int32_t>(labels, rows, "labels");
  float* losses = elements_of(loss, rows, "loss");
  float* sums = elements_of(lse, rows, "lse");
  const float z = options.z_coefficient;
  parallel_for(rows, [=](std::int64_t r) {
    const MergedRow row = merge_shards(in + r * stats_per_row, shards, rows * stats_per_row);
    sums[r] = static_cast<float>(row.lse);
    losses[r] = ignored(label[r]) ? 0.0F : static_cast<float>(loss_of(row, z));
  });
}

void cross_entropy_backward(const Stream& stream, const Tensor& logits, const Tensor& lse,
                            const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                            float scale, const LogitOptions& options) {
  if (on_device(stream))
    return cuda::cross_entropy_backward(stream, logits, lse, labels, first_token, columns, scale,
                                        options);
  backward_rows(logits, lse, labels, first_token, columns, scale, options, {});
}

void scaled_cross_entropy_backward(const Stream& stream, const Tensor& logits, const Tensor& lse,
                                   const Tensor& labels, std::int64_t first_token,
                                   std::int64_t columns, float scale, const LogitOptions& options,
                                   const Tensor& factors) {
  if (on_device(stream))
    return cuda::scaled_cross_entropy_backward(stream, logits, lse, labels, first_token, columns,
                                               scale, options, factors);
  backward_rows(logits, lse, labels, first_token, columns, scale, options, factors);
}

}  // namespace triax
