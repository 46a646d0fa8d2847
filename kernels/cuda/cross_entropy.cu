#include "kernels/cross_entropy.hpp"

#include <cmath>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/long_row.hpp"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/cuda/row_sum.hpp"
#include "kernels/formulas.hpp"

namespace triax::cuda {
namespace {

constexpr std::int32_t ignored = -1;
constexpr std::int64_t stats_per_row = 3;  // maximum, sum of exponentials, logit of the label

// The largest of some logits, and the sum of exp(logit - largest).
struct Exponentials {
  float largest = -INFINITY;
  float sum = 0.0F;

  // A logit of NaN does not become the largest, and makes the sum NaN.
  template <int n>
  TRIAX_DEVICE void add(const float* logits) {
    float to = largest;
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) to = logits[i] > to ? logits[i] : to;
    sum *= rescaled(largest, to);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) sum += rescaled(logits[i], to);
    largest = to;
  }

  TRIAX_DEVICE void merge(const Exponentials& other) {
    const float to = other.largest > largest ? other.largest : largest;
    sum = sum * rescaled(largest, to) + other.sum * rescaled(other.largest, to);
    largest = to;
  }

  // exp(from - to); 0 where both are -infinity: nothing has been added yet.
  TRIAX_DEVICE static float rescaled(float from, float to) {
    return std::exp(from - (to == -INFINITY ? 0.0F : to));
  }
};

// Merged over the block, in a fixed order; thread 0 gets the whole. `slots`: 2 floats a warp.
TRIAX_DEVICE inline Exponentials over_block(const Block& block, float* slots, Exponentials part) {
  TRIAX_UNROLL
  for (int mask = warp / 2; mask > 0; mask /= 2) {
    Exponentials other;
    other.largest = block.shuffle_xor(part.largest, mask);
    other.sum = block.shuffle_xor(part.sum, mask);
    part.merge(other);
  }
  if (block.thread_x() % warp == 0) {
    slots[2 * warp_of_row(block)] = part.largest;
    slots[2 * warp_of_row(block) + 1] = part.sum;
  }
  block.sync();
  if (block.thread_x() == 0)
    for (int w = 1; w < warps_of_row(block); ++w) {
      Exponentials other;
      other.largest = slots[2 * w];
      other.sum = slots[2 * w + 1];
      part.merge(other);
    }
  return part;
}

template <class T>
struct Stats {
  static constexpr int max_threads = 512;
  float* stats;
  Rows<T> logits;
  const std::int32_t* labels;
  std::int64_t first_token;
  std::int64_t columns;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t r = block.index_x();
    const T* row = logits[r];
    // Pieces from the row's beginning, whether aligned or not: the sums depend on the logits alone.
    constexpr int width = wide<T>;
    const bool allowed = reinterpret_cast<std::uintptr_t>(row) % 16 == 0;
    Exponentials part;
    for (std::int64_t column = block.thread_x() * width; column < columns;
         column += block.threads_x() * width) {
      float values[width];
      if (allowed && column + width <= columns)
        load_piece<true>(values, row + column, width);
      else
        load_piece<false>(values, row + column, columns - column, -INFINITY);
      part.template add<width>(values);
    }
    part = over_block(block, block.shared<float>(), part);
    if (block.thread_x() != 0) return;
    const std::int64_t local = labels[r] == ignored ? ignored : labels[r] - first_token;
    float* to = stats + r * stats_per_row;
    to[0] = part.largest;
    to[1] = part.sum;
    to[2] = local >= 0 && local < columns ? widen(row[local]) : 0.0F;
  }
};

struct Loss {
  float* loss;
  float* lse;
  const float* stats;
  const std::int32_t* labels;
  std::int64_t shards;
  std::int64_t rows;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t r) const {
    const MergedRow row = merge_shards(stats + r * stats_per_row, shards, rows * stats_per_row);
    lse[r] = static_cast<float>(row.lse);
    loss[r] = labels[r] == ignored ? 0.0F : static_cast<float>(row.lse - row.label_logit);
  }
};

template <class T>
struct Backward {
  static constexpr int max_threads = 512;
  Rows<T> logits;
  const float* lse;
  const std::int32_t* labels;
  std::int64_t first_token;
  std::int64_t columns;
  float scale;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t r = block.index_x();
    T* row = logits[r];
    const bool counts = labels[r] != ignored;
    const std::int64_t label = labels[r] - first_token;
    const float shift = lse[r];
    each_piece_of_long_row(block, row, logits.columns, [&]<int n>(Width<n>, std::int64_t column) {
      float values[n];
      load<n>(values, row + column);
      TRIAX_UNROLL
      for (int i = 0; i < n; ++i) {
        const float softmax = scale * std::exp(values[i] - shift);
        const float gradient = column + i == label ? softmax - scale : softmax;
        values[i] = counts && column + i < columns ? gradient : 0.0F;
      }
      store<n>(row + column, values);
    });
  }
};

template <class T>
void check_columns(const Rows<T>& logits, std::int64_t columns) {
  check(columns >= 0 && columns <= logits.columns, "{} real columns of {} logits", columns,
        logits.columns);
}

}  // namespace

void cross_entropy_stats(const Stream& stream, const Tensor& stats, const Tensor& logits,
                         const Tensor& labels, std::int64_t first_token, std::int64_t columns) {
  with_type(logits.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> in = device_rows<T>(logits, "logits");
    check_columns(in, columns);
    const auto* label = device_elements<std::int32_t>(labels, in.rows, "labels");
    float* out = device_elements(stats, in.rows * stats_per_row, "stats");
    launch(stream, long_row_shape(in.rows), Stats<T>{out, in, label, first_token, columns});
  });
}

void cross_entropy_loss(const Stream& stream, const Tensor& loss, const Tensor& lse,
                        const Tensor& stats, const Tensor& labels) {
  const std::int64_t rows = labels.elements();
  check(stats.rank() == 3 && stats.size(1) == rows && stats.size(2) == stats_per_row,
        "stats of shape {} for {} rows", stats.shape(), rows);
  const std::int64_t shards = stats.size(0);
  const Loss body{device_elements(loss, rows, "loss"),
                  device_elements(lse, rows, "lse"),
                  device_elements(stats, shards * rows * stats_per_row, "stats"),
                  device_elements<std::int32_t>(labels, rows, "labels"),
                  shards,
                  rows};
  pointwise<1>(stream, rows, false, body);
}

void cross_entropy_backward(const Stream& stream, const Tensor& logits, const Tensor& lse,
                            const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                            float scale) {
  with_type(logits.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = device_rows<T>(logits, "logits");
    check_columns(out, columns);
    const auto* label = device_elements<std::int32_t>(labels, out.rows, "labels");
    const float* sums = device_elements(lse, out.rows, "lse");
    launch(stream, long_row_shape(out.rows),
           Backward<T>{out, sums, label, first_token, columns, scale});
  });
}

}  // namespace triax::cuda
