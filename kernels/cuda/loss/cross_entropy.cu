// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss/cross_entropy.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "kernels/cuda/loss/logit_row.hpp"
#include "kernels/cuda/pair_kernels.hpp"
#include "kernels/loss/softmax_shards.hpp"

namespace triax::cuda {
namespace {

constexpr std::int64_t nowhere = -1;       // column of a label that is ignored
constexpr std::int64_t stats_per_row = 3;  // maximum, sum of exponentials, logit of the label

template <class T, class Cap>
struct LogitRows {
  Rows<T> rows;
  const std::int32_t* labels;
  std::int64_t first_token;
  int columns;
  Cap cap;

  template <bool allowed>
  TRIAX_DEVICE LogitRow<T, allowed, Cap> row(std::int64_t r) const {
    return {rows[r], columns, static_cast<int>(rows.columns), cap};
  }
  TRIAX_DEVICE bool counts(std::int64_t r) const { return labels[r] >= 0; }
  // Column of the label in this shard.
  TRIAX_DEVICE std::int64_t label(std::int64_t r) const {
    return counts(r) ? labels[r] - first_token : nowhere;
  }
};

template <class T, bool allowed, class Cap>
struct Stats {
  static constexpr int max_threads = long_row_threads;
  float* stats;
  LogitRows<T, Cap> logits;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t r = block.index_x();
    const auto row = logits.template row<allowed>(r);
    const Exponentials all = over_block(block, block.shared<float>(), row.exponentials(block));
    if (block.thread_x() != 0) return;
    float* to = stats + r * stats_per_row;
    to[0] = all.largest;
    to[1] = all.sum;
    to[2] = row.logit_of(logits.label(r));
  }
};

struct Loss {
  float* loss;
  float* lse;
  const float* stats;
  const std::int32_t* labels;
  std::int64_t shards;
  std::int64_t rows;
  float z_coefficient;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t r) const {
    const MergedRow row = merge_shards(stats + r * stats_per_row, shards, rows * stats_per_row);
    lse[r] = static_cast<float>(row.lse);
    loss[r] = labels[r] < 0 ? 0.0F : static_cast<float>(loss_of(row, z_coefficient));
  }
};

template <class T, bool allowed, class Cap>
struct Backward {
  static constexpr int max_threads = long_row_threads;
  LogitRows<T, Cap> logits;
  const float* lse;
  const float* factors;  // of each row; may be null
  float scale;
  float z_coefficient;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t r = block.index_x();
    const auto row = logits.template row<allowed>(r);
    const std::int64_t label = logits.label(r);
    if (!logits.counts(r)) return row.clear(block);
    // Only the thread that will write this column reads it, so no barrier is needed.
    const float label_logit = has_column<T>(block, label) ? row.logit_of(label) : 0.0F;
    const float of_row = factors == nullptr ? scale : scale * factors[r];
    row.make_gradient(block, lse[r], label, label_logit, of_row,
                      softmax_factor(of_row, lse[r], z_coefficient));
  }
};

// Loss and gradient in one pass over memory. Logits that shared memory does not hold are read
// again, usually from L2.
template <class T, bool allowed, class Cap>
struct LossAndGradient {
  static constexpr int max_threads = long_row_threads;
  float* loss;
  LogitRows<T, Cap> logits;
  int held;
  float scale;
  float z_coefficient;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t r = block.index_x();
    auto row = logits.template row<allowed>(r);
    if (!logits.counts(r)) {
      if (block.thread_x() == 0) loss[r] = 0.0F;
      return row.clear(block);
    }
    auto* slots = block.shared<float>();
    row.copy = reinterpret_cast<T*>(slots + row_sum_slots);
    row.held = held;
    const std::int64_t label = logits.label(r);
    const float label_logit = row.logit_of(label);
    const Exponentials all = over_block(block, slots, row.exponentials(block));
    if (block.thread_x() == 0) {
      const double lse =
          log_sum_exp(static_cast<double>(all.largest), static_cast<double>(all.sum));
      const MergedRow whole{lse, static_cast<double>(label_logit)};
      loss[r] = static_cast<float>(loss_of(whole, z_coefficient));
      slots[0] = static_cast<float>(lse);
    }
    block.sync();
    row.make_gradient(block, slots[0], label, label_logit, scale,
                      softmax_factor(scale, slots[0], z_coefficient));
  }
};

template <class T, class Cap>
LogitRows<T, Cap> logit_rows(const Tensor& logits, const Tensor& labels, std::int64_t first_token,
                             std::int64_t columns, const Cap& cap) {
  constexpr std::int64_t most =
      std::int64_t{1} << 30;  // columns must fit into an int, with room for a few rows ahead
  const Rows<T> rows = device_rows<T>(logits, "logits");
  check(columns >= 0 && columns <= rows.columns && rows.columns <= most,
        "{} real columns of {} logits", columns, rows.columns);
  return {rows, device_elements<std::int32_t>(labels, rows.rows, "labels"), first_token,
          static_cast<int>(columns), cap};
}

template <class T>
bool whole_pieces(const Rows<T>& rows) {
  return aligned(rows) && rows.columns % wide<T> == 0;
}

template <class T>
LaunchShape shape_of(const Rows<T>& rows) {
  return long_row_shape(rows.rows, rows.columns * static_cast<std::int64_t>(sizeof(T)));
}

// Calls body(Type<T>{}, cap).
template <class Body>
void with_type_and_cap(const Tensor& logits, const LogitOptions& options, const Body& body) {
  with_type(logits.dtype(), [&]<class T>(Type<T> type) {
    with_cap(options.soft_cap, [&](const auto& cap) { body(type, cap); });
  });
}

// `factors`: empty, or of each row.
void backward_rows(const Stream& stream, const Tensor& logits, const Tensor& lse,
                   const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                   float scale, const LogitOptions& options, const Tensor& factors) {
  with_type_and_cap(logits, options, [&]<class T, class Cap>(Type<T>, const Cap& cap) {
    const LogitRows<T, Cap> out = logit_rows<T>(logits, labels, first_token, columns, cap);
    const float* sums = device_elements(lse, out.rows.rows, "lse");
    const float* of_rows =
        factors.empty() ? nullptr : device_elements(factors, out.rows.rows, "factors");
    with_bool(whole_pieces(out.rows), [&]<bool allowed>(std::bool_constant<allowed>) {
      launch(stream, shape_of(out.rows),
             Backward<T, allowed, Cap>{out, sums, of_rows, scale, options.z_coefficient});
    });
  });
}

}  // namespace

void cross_entropy_stats(const Stream& stream, const Tensor& stats, const Tensor& logits,
                         const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                         const LogitOptions& options) {
  with_type_and_cap(logits, options, [&]<class T, class Cap>(Type<T>, const Cap& cap) {
    const LogitRows<T, Cap> in = logit_rows<T>(logits, labels, first_token, columns, cap);
    float* out = device_elements(stats, in.rows.rows * stats_per_row, "stats");
    with_bool(whole_pieces(in.rows), [&]<bool allowed>(std::bool_constant<allowed>) {
      launch(stream, shape_of(in.rows), Stats<T, allowed, Cap>{out, in});
    });
  });
}

void cross_entropy_loss(const Stream& stream, const Tensor& loss, const Tensor& lse,
                        const Tensor& stats, const Tensor& labels, const LogitOptions& options) {
  const std::int64_t rows = labels.elements();
  check(stats.rank() == 3 && stats.size(1) == rows && stats.size(2) == stats_per_row,
        "stats of shape {} for {} rows", stats.shape(), rows);
  const std::int64_t shards = stats.size(0);
  const Loss body{device_elements(loss, rows, "loss"),
                  device_elements(lse, rows, "lse"),
                  device_elements(stats, shards * rows * stats_per_row, "stats"),
                  device_elements<std::int32_t>(labels, rows, "labels"),
                  shards,
                  rows,
                  options.z_coefficient};
  pointwise<1>(stream, rows, false, body);
}

void cross_entropy_backward(const Stream& stream, const Tensor& logits, const Tensor& lse,
                            const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                            float scale, const LogitOptions& options) {
  backward_rows(stream, logits, lse, labels, first_token, columns, scale, options, {});
}

void scaled_cross_entropy_backward(const Stream& stream, const Tensor& logits, const Tensor& lse,
                                   const Tensor& labels, std::int64_t first_token,
                                   std::int64_t columns, float scale, const LogitOptions& options,
                                   const Tensor& factors) {
  backward_rows(stream, logits, lse, labels, first_token, columns, scale, options, factors);
}

void cross_entropy(const Stream& stream, const Tensor& loss, const Tensor& logits,
                   const Tensor& labels, std::int64_t columns, float scale,
                   const LogitOptions& options) {
  with_type_and_cap(logits, options, [&]<class T, class Cap>(Type<T>, const Cap& cap) {
    const LogitRows<T, Cap> out = logit_rows<T>(logits, labels, 0, columns, cap);
    float* losses = device_elements(loss, out.rows.rows, "loss");
    LaunchShape shape = shape_of(out.rows);
    const std::int64_t bytes = columns / wide<T> * 16;
    const std::size_t room = held_bytes(bytes, shared_memory_of(stream));
    shape.shared_bytes += room;
    with_bool(whole_pieces(out.rows), [&]<bool allowed>(std::bool_constant<allowed>) {
      launch(stream, shape,
             LossAndGradient<T, allowed, Cap>{losses, out, static_cast<int>(room / sizeof(T)),
                                              scale, options.z_coefficient});
    });
  });
}

}  // namespace triax::cuda
