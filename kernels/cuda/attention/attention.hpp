// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor views, sizes and tile order shared by all attention kernels: those on tensor cores (16-bit
// types, heads of up to 128, rows in whole 16-byte pieces) and the plain ones (everything else).
#include <cmath>

#include "kernels/attention/sizes.hpp"
#include "kernels/cuda/attention/attention_shape.hpp"
#include "kernels/cuda/attention/attention_window.hpp"
#include "kernels/cuda/launch/views.hpp"
#include "kernels/cuda/random/random_words.hpp"
#include "kernels/random/dropout_mask.hpp"

namespace triax::cuda {

/// A tensor (B, T, H, D), or (B, H, T) with row_stride 1.
template <class T>
struct Heads {
  T* data;
  std::int64_t batch_stride, row_stride, head_stride;

  TRIAX_DEVICE T* of(std::int64_t b, std::int64_t h) const {
    return data + b * batch_stride + h * head_stride;
  }
};

template <class T>
Heads<T> heads_of(const Tensor& x) {
  return {x.as<T>(), x.stride(0), x.stride(1), x.stride(2)};
}
inline Heads<float> statistics_of(const Tensor& x) {
  return {x.as<float>(), x.stride(0), 1, x.stride(1)};
}

/// Whether 16-byte accesses may begin at every row of every head.
template <class T>
bool aligned(const Heads<T>& heads) {
  return aligned(heads.data) && heads.batch_stride % wide<T> == 0 &&
         heads.row_stride % wide<T> == 0 && heads.head_stride % wide<T> == 0;
}

/// Limits that a kernel is compiled for, so that attention without them pays nothing. Kernels for
/// soft_cap and documents also serve windows.
enum class Limits { none, window, soft_cap, documents, documents_soft_cap };
template <Limits limits>
using Limited = std::integral_constant<Limits, limits>;
constexpr bool soft_capped(Limits limits) {
  return limits == Limits::soft_cap || limits == Limits::documents_soft_cap;
}
constexpr bool in_documents(Limits limits) {
  return limits == Limits::documents || limits == Limits::documents_soft_cap;
}

/// Sizes and options of a call.
struct AttentionTask {
  int length;
  int heads;
  int key_heads;
  int head_size;
  std::int64_t batch;
  float scale;
  int window;                     // keys that a query sees, its own included; at most `length`
  const std::int32_t* positions;  // (B, T): in documents; null: each sequence is one document
  int positions_stride;           // from one sequence to the next
  float soft_cap;                 // 0: none
  float scale_of_cap;             // scale / soft_cap
  DropoutMask dropout;            // of probabilities
  std::uint64_t key;
  std::int64_t first_head;  // counts heads over all samples and ranks: the dropout counter
  std::int64_t total_heads;
  int queries_together;  // query heads whose tiles run side by side, so that they share K and V in
                         // L2
  int keys_together;  // key heads whose tiles run side by side, so that they share their queries in
                      // L2

  AttentionTask(const triax::attention::Sizes& n, const AttentionOptions& options, DType type)
      : length(static_cast<int>(n.length)),
        heads(static_cast<int>(n.heads)),
        key_heads(static_cast<int>(n.key_heads)),
        head_size(static_cast<int>(n.head_size)),
        batch(n.batch),
        scale(options.scale),
        window(static_cast<int>(n.window)),
        positions(options.positions.empty() ? nullptr : options.positions.as<std::int32_t>()),
        positions_stride(options.positions.empty() ? 0
                                                   : static_cast<int>(options.positions.stride(0))),
        soft_cap(options.soft_cap),
        scale_of_cap(options.soft_cap > 0.0F ? options.scale / options.soft_cap : 0.0F),
        dropout(dropout_mask(options.dropout.probability)),
        key(options.dropout.key),
        first_head(options.first_batch * options.total_heads + options.first_head),
        total_heads(options.total_heads),
        queries_together(
            static_cast<int>(heads_together(n.length, n.head_size, size_of(type)) * n.group())),
        keys_together(
            static_cast<int>(heads_together(n.length * n.group(), n.head_size, size_of(type)))) {
    check(n.length < 1 << 30, "attention over {} tokens", n.length);
    triax::attention::check_positions(options, n, MemorySpace::device);
    check(n.batch * positions_stride < std::int64_t{1} << 31, "positions of {} x {} tokens",
          n.batch, positions_stride);
  }

  Limits limits() const {
    if (positions != nullptr)
      return soft_cap > 0.0F ? Limits::documents_soft_cap : Limits::documents;
    if (soft_cap > 0.0F) return Limits::soft_cap;
    return window < length ? Limits::window : Limits::none;
  }
  /// Factor from what kernels hold to scores: they hold q k^T, or with a soft cap cap_product(q
  /// k^T).
  TRIAX_DEVICE float unit(Limits of) const { return soft_capped(of) ? soft_cap : scale; }
  TRIAX_DEVICE float cap_product(float product) const { return std::tanh(product * scale_of_cap); }

  TRIAX_DEVICE int group() const { return heads / key_heads; }
  /// Whether dropout keeps the probability of query i and key j of head h of sample b.
  TRIAX_DEVICE bool keeps(std::int64_t b, int h, int i, int j) const {
    const std::int64_t head = first_head + b * total_heads + h;
    std::uint32_t half[1];
    halves_at<1>(half, key, (head * length + i) * length + j);
    return dropout.keeps(half[0]);
  }
};

/// Keys that the queries of sample b see.
template <Limits limits>
TRIAX_DEVICE inline auto window_of(const AttentionTask& task, std::int64_t b) {
  if constexpr (in_documents(limits))
    return DocumentWindow{task.window, task.length, task.positions,
                          static_cast<int>(b) * task.positions_stride};
  else
    return KeyWindow<limits != Limits::none>{task.window};
}

/// Calls body(Limited<limits>{}) with the limits of a call.
template <class Body>
void with_limits(const AttentionTask& task, const Body& body) {
  switch (task.limits()) {
    case Limits::none:
      return body(Limited<Limits::none>{});
    case Limits::window:
      return body(Limited<Limits::window>{});
    case Limits::soft_cap:
      return body(Limited<Limits::soft_cap>{});
    case Limits::documents:
      return body(Limited<Limits::documents>{});
    case Limits::documents_soft_cap:
      return body(Limited<Limits::documents_soft_cap>{});
  }
}

/// The work of one CUDA block: tile `tile` of head `h` of sample `b`.
struct AttentionPlace {
  int tile;
  int h;
  std::int64_t b;
};

/// The tile of `rows` queries of this CUDA block. A later tile sees more keys, so the last tiles
/// start first.
TRIAX_DEVICE inline AttentionPlace query_tile(const Block& block, const AttentionTask& task,
                                              int rows) {
  const int tiles = (task.length + rows - 1) / rows;
  const TileOfHead at = tile_of_block(static_cast<std::uint32_t>(block.index_x()),
                                      static_cast<std::uint32_t>(task.batch * task.heads),
                                      static_cast<std::uint32_t>(tiles),
                                      static_cast<std::uint32_t>(task.queries_together));
  return {tiles - 1 - at.tile, at.head % task.heads, at.head / task.heads};
}
/// The tile of `rows` keys of this CUDA block. A later tile is seen by fewer queries, so the first
/// tiles start first.
TRIAX_DEVICE inline AttentionPlace key_tile(const Block& block, const AttentionTask& task,
                                            int rows) {
  const int tiles = (task.length + rows - 1) / rows;
  const TileOfHead at = tile_of_block(static_cast<std::uint32_t>(block.index_x()),
                                      static_cast<std::uint32_t>(task.batch * task.key_heads),
                                      static_cast<std::uint32_t>(tiles),
                                      static_cast<std::uint32_t>(task.keys_together));
  return {at.tile, at.head % task.key_heads, at.head / task.key_heads};
}

/// Attention for any head size and alignment (attention_plain.cu). The caller has checked shapes
/// and types.
/// delta (B, H, T): sum over D of dout * out.
void plain_attention_forward(const Stream& stream, const AttentionTask& task, const Tensor& out,
                             const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v);
void plain_attention_backward(const Stream& stream, const AttentionTask& task, const Tensor& dq,
                              const Tensor& dk, const Tensor& dv, const Tensor& dout,
                              const Tensor& delta, const Tensor& lse, const Tensor& q,
                              const Tensor& k, const Tensor& v);

}  // namespace triax::cuda
