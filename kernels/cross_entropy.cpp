#include "kernels/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/lane_sum.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/vector_math.hpp"

namespace triax {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t ignored = -1;
constexpr std::int64_t stats_per_row = 3;  // maximum, sum of exponentials, logit of the label

float maximum(const float* row, std::int64_t columns) {
  float largest = -infinity;
#pragma omp simd reduction(max : largest)
  for (std::int64_t c = 0; c < columns; ++c) largest = row[c] > largest ? row[c] : largest;
  return largest;
}

// In float within runs, in double over them: a vocabulary is long enough for float sums to drift.
double sum_of_exponentials(const float* row, std::int64_t columns, float shift) {
  constexpr std::int64_t run = 2048;
  double total = 0.0;
  for (std::int64_t begin = 0; begin < columns; begin += run) {
    const float* part = row + begin;
    total += static_cast<double>(lane_sum<float>(
        std::min(run, columns - begin), [=](std::int64_t c) { return fast_exp(part[c] - shift); }));
  }
  return total;
}

void check_columns(const Rows<float>& logits, std::int64_t columns) {
  check(columns >= 0 && columns <= logits.columns, "{} real columns of {} logits", columns,
        logits.columns);
}

// The softmax statistics of one row from those of its shards (shard s at stats + s * shard_stride).
struct MergedRow {
  double lse;
  double label_logit;
};

MergedRow merge_shards(const float* stats, std::int64_t shards, std::int64_t shard_stride) {
  double largest = -static_cast<double>(infinity);
  for (std::int64_t s = 0; s < shards; ++s)
    largest = std::max(largest, static_cast<double>(stats[s * shard_stride]));
  double total = 0.0;
  double label_logit = 0.0;
  for (std::int64_t s = 0; s < shards; ++s) {
    const float* shard = stats + s * shard_stride;
    // A shard without real columns has no maximum; every other one has a sum of at least 1, or NaN.
    if (shard[1] != 0.0F)
      total += static_cast<double>(shard[1]) * std::exp(static_cast<double>(shard[0]) - largest);
    label_logit += static_cast<double>(shard[2]);
  }
  return {largest + std::log(total), label_logit};
}

}  // namespace

void cross_entropy_stats(const Stream&, const Tensor& stats, const Tensor& logits,
                         const Tensor& labels, std::int64_t first_token, std::int64_t columns) {
  const Rows<float> in = rows_of(logits, "logits");
  check_columns(in, columns);
  const std::int32_t* label = elements_of<std::int32_t>(labels, in.rows, "labels");
  float* out = elements_of(stats, in.rows * stats_per_row, "stats");
  parallel_for(in.rows, [=](std::int64_t r) {
    const float* row = in[r];
    float* to = out + r * stats_per_row;
    const std::int64_t local = label[r] == ignored ? ignored : label[r] - first_token;
    to[0] = maximum(row, columns);
    to[1] = static_cast<float>(sum_of_exponentials(row, columns, to[0]));
    to[2] = local >= 0 && local < columns ? row[local] : 0.0F;
  });
}

void cross_entropy_loss(const Stream&, const Tensor& loss, const Tensor& lse, const Tensor& stats,
                        const Tensor& labels) {
  const std::int64_t rows = labels.elements();
  check(stats.rank() == 3 && stats.size(1) == rows && stats.size(2) == stats_per_row,
        "stats of shape {} for {} rows", stats.shape(), rows);
  const std::int64_t shards = stats.size(0);
  const float* in = elements_of(stats, shards * rows * stats_per_row, "stats");
  const std::int32_t* label = elements_of<std::int32_t>(labels, rows, "labels");
  float* losses = elements_of(loss, rows, "loss");
  float* sums = elements_of(lse, rows, "lse");
  parallel_for(rows, [=](std::int64_t r) {
    const MergedRow row = merge_shards(in + r * stats_per_row, shards, rows * stats_per_row);
    sums[r] = static_cast<float>(row.lse);
    losses[r] = label[r] == ignored ? 0.0F : static_cast<float>(row.lse - row.label_logit);
  });
}

void cross_entropy_backward(const Stream&, const Tensor& logits, const Tensor& lse,
                            const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                            float scale) {
  const Rows<float> out = rows_of(logits, "logits");
  check_columns(out, columns);
  const std::int32_t* label = elements_of<std::int32_t>(labels, out.rows, "labels");
  const float* sums = elements_of(lse, out.rows, "lse");
  parallel_for(out.rows, [=](std::int64_t r) {
    float* row = out[r];
    if (label[r] == ignored) {
      std::fill_n(row, out.columns, 0.0F);
      return;
    }
    const float shift = sums[r];
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) row[c] = scale * fast_exp(row[c] - shift);
    std::fill(row + columns, row + out.columns, 0.0F);
    const std::int64_t local = label[r] - first_token;
    if (local >= 0 && local < columns) row[local] -= scale;
  });
}

}  // namespace triax
