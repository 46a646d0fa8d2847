// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention tiles on tensor cores. A tile lies in shared memory: rows of `width` 16-bit elements.
// Scores and sums are spread over the registers of a warp, `strips` times 16 rows, as matrix d of
// warp_matrix.hpp: x[strip][column / 8][4].
#include <cmath>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/attention/attention.hpp"
#include "kernels/cuda/attention/attention_shape.hpp"
#include "kernels/cuda/launch/fast_math.hpp"
#include "kernels/cuda/launch/warp_matrix.hpp"

namespace triax::cuda {

/// Address of a 16-byte piece of a row. The pieces of each row are permuted, so that the same piece
/// of eight rows lies in different banks.
template <int width, class T>
TRIAX_DEVICE inline T* tile_piece(T* tile, int row, int piece) {
  return tile + row * width + (piece ^ row % 8) * 8;
}

/// Offset at which a lane begins to read 8 x 8 matrices from a tile (load_matrices). Matrices 0 to
/// 3 go down first (rows 0, 8, then the next piece) or across first. Matrices `piece` pieces
/// further right (an even number) lie at offset ^ 8 piece, those `row` rows further down (a
/// multiple of 8) at offset + row width.
template <int width>
TRIAX_DEVICE inline int offset_down_first(int lane) {
  return lane % 16 * width + (lane / 16 ^ lane % 8) * 8;
}
template <int width>
TRIAX_DEVICE inline int offset_across_first(int lane) {
  return (lane / 16 * 8 + lane % 8) * width + (lane / 8 % 2 ^ lane % 8) * 8;
}

/// Rows of one head of a tensor.
template <class T>
struct HeadRows {
  T* data;
  std::int64_t stride;
  int length;     // T
  int head_size;  // D, a multiple of 8

  TRIAX_DEVICE bool has(int row, int piece) const { return row < length && piece * 8 < head_size; }
  TRIAX_DEVICE T* at(int row, int piece) const { return data + row * stride + piece * 8; }
};

template <class T>
TRIAX_DEVICE inline HeadRows<T> rows_of_head(const AttentionTask& task, const Heads<T>& heads,
                                             std::int64_t b, int h) {
  return {heads.of(b, h), heads.row_stride, task.length, task.head_size};
}

/// Begins to copy rows from `first` on into a tile. What lies beyond the last row or column becomes
/// zero.
template <int rows, int width, int threads, class T>
TRIAX_DEVICE inline void begin_rows(const Block& block, T* tile, const HeadRows<T>& from,
                                    int first) {
  constexpr int pieces = width / 8;
  static_assert(rows * pieces % threads == 0);
  TRIAX_UNROLL
  for (int step = 0; step < rows * pieces / threads; ++step) {
    const int row = (step * threads + block.thread_x()) / pieces;
    const int piece = (step * threads + block.thread_x()) % pieces;
    const bool present = from.has(first + row, piece);
    begin_copy<16>(block, tile_piece<width>(tile, row, piece),
                   present ? from.at(first + row, piece) : from.data, present);
  }
}

/// Row and column of element i of x[strip][n] in `lane`.
TRIAX_DEVICE inline int score_row(int lane, int strip, int i) {
  return strip * 16 + lane / 4 + i / 2 * 8;
}
TRIAX_DEVICE inline int score_column(int lane, int n, int i) {
  return n * 8 + lane % 4 * 2 + i % 2;
}

/// Applies AttentionTask::cap_product to products of queries and keys.
template <int strips, int columns>
TRIAX_DEVICE inline void cap_products(const AttentionTask& task, float (&x)[strips][columns][4]) {
  TRIAX_UNROLL
  for (int strip = 0; strip < strips; ++strip) {
    TRIAX_UNROLL
    for (int n = 0; n < columns; ++n) {
      TRIAX_UNROLL
      for (int i = 0; i < 4; ++i) x[strip][n][i] = task.cap_product(x[strip][n][i]);
    }
  }
}

/// Sets the scores for which masked(row, column) holds to -infinity.
template <int strips, int columns, class Masked>
TRIAX_DEVICE inline void mask_scores(int lane, float (&x)[strips][columns][4],
                                     const Masked& masked) {
  TRIAX_UNROLL
  for (int strip = 0; strip < strips; ++strip) {
    TRIAX_UNROLL
    for (int n = 0; n < columns; ++n) {
      TRIAX_UNROLL
      for (int i = 0; i < 4; ++i)
        if (masked(score_row(lane, strip, i), score_column(lane, n, i))) x[strip][n][i] = -INFINITY;
    }
  }
}

/// mask_scores() where row r shows the columns from shown(r).begin to shown(r).end - 1: one look at
/// each row.
template <int strips, int columns, class Shown>
TRIAX_DEVICE inline void mask_rows(int lane, float (&x)[strips][columns][4], const Shown& shown) {
  TRIAX_UNROLL
  for (int strip = 0; strip < strips; ++strip) {
    TRIAX_UNROLL
    for (int half = 0; half < 2; ++half) {
      const RowRange seen = shown(score_row(lane, strip, 2 * half));
      TRIAX_UNROLL
      for (int n = 0; n < columns; ++n) {
        TRIAX_UNROLL
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          const int column = score_column(lane, n, i);
          if (column < seen.begin || column >= seen.end) x[strip][n][i] = -INFINITY;
        }
      }
    }
  }
}

/// Hides the keys from j0 on that a warp's queries from i0 on do not see.
template <Limits limits, int strips, int columns, class Window>
TRIAX_DEVICE inline void mask_keys(int lane, float (&x)[strips][columns][4], const Window& window,
                                   int i0, int j0) {
  if constexpr (in_documents(limits))
    mask_rows(lane, x, [&](int row) {
      return RowRange{window.first_key(i0 + row) - j0, i0 + row - j0 + 1};
    });
  else
    mask_scores(lane, x, [&](int row, int column) { return !window.sees(i0 + row, j0 + column); });
}

/// sums += a b^T. a: the warp's own rows of a tile.
template <class T, int width, int strips, int columns>
TRIAX_DEVICE inline void add_row_products(const Block& block, float (&sums)[strips][columns][4],
                                          const T* a, const T* b) {
  const int at_a = offset_down_first<width>(block.thread_x() % warp);
  const int at_b = offset_across_first<width>(block.thread_x() % warp);
  TRIAX_UNROLL_2
  for (int k = 0; k < width / 16; ++k) {
    Word left[strips][4];
    TRIAX_UNROLL
    for (int strip = 0; strip < strips; ++strip)
      load_matrices(block, left[strip], a + (at_a ^ 16 * k) + strip * 16 * width);
    TRIAX_UNROLL
    for (int n = 0; n < columns; n += 2) {
      Word right[4];
      load_matrices(block, right, b + (at_b ^ 16 * k) + n * 8 * width);
      TRIAX_UNROLL
      for (int strip = 0; strip < strips; ++strip) {
        multiply_add<T>(block, sums[strip][n], left[strip], right[0], right[1]);
        multiply_add<T>(block, sums[strip][n + 1], left[strip], right[2], right[3]);
      }
    }
  }
}

/// Scores rounded to T, as the left operand of products. Two neighbouring 16 x 8 tiles in layout d
/// are one 16 x 16 operand in layout a.
template <int strips, int depth>
struct PackedScores {
  Word words[depth / 2][strips][4];
};

template <class T, int strips, int depth>
TRIAX_DEVICE inline PackedScores<strips, depth> pack_scores(const float (&p)[strips][depth][4]) {
  PackedScores<strips, depth> packed;
  TRIAX_UNROLL
  for (int k = 0; k < depth / 2; ++k) {
    TRIAX_UNROLL
    for (int strip = 0; strip < strips; ++strip) {
      TRIAX_UNROLL
      for (int i = 0; i < 4; ++i) {
        const float* pair = &p[strip][2 * k + i / 2][i % 2 * 2];
        packed.words[k][strip][i] = pack_pair<T>(pair[0], pair[1]);
      }
    }
  }
  return packed;
}

/// sums += p b. b: a tile with one row per column of p.
template <class T, int width, int strips, int depth>
TRIAX_DEVICE inline void add_score_products(const Block& block, float (&sums)[strips][width / 8][4],
                                            const PackedScores<strips, depth>& p, const T* b) {
  const int at_b = offset_down_first<width>(block.thread_x() % warp);
  TRIAX_UNROLL
  for (int k = 0; k < depth / 2; ++k) {
    TRIAX_UNROLL
    for (int n = 0; n < width / 8; n += 2) {
      Word right[4];
      load_transposed(block, right, b + (at_b ^ 8 * n) + k * 16 * width);
      TRIAX_UNROLL
      for (int strip = 0; strip < strips; ++strip) {
        multiply_add<T>(block, sums[strip][n], p.words[k][strip], right[0], right[1]);
        multiply_add<T>(block, sums[strip][n + 1], p.words[k][strip], right[2], right[3]);
      }
    }
  }
}

/// Writes a warp's sums, rounded, into its own rows of a tile.
template <class T, int width, int strips>
TRIAX_DEVICE inline void put_sums(const Block& block, T* own_rows,
                                  const float (&sums)[strips][width / 8][4]) {
  const int lane = block.thread_x() % warp;
  TRIAX_UNROLL
  for (int strip = 0; strip < strips; ++strip) {
    TRIAX_UNROLL
    for (int n = 0; n < width / 8; ++n) {
      TRIAX_UNROLL
      for (int half = 0; half < 2; ++half) {
        const Word pair = pack_pair<T>(sums[strip][n][2 * half], sums[strip][n][2 * half + 1]);
        T* to = tile_piece<width>(own_rows, strip * 16 + lane / 4 + half * 8, n) + lane % 4 * 2;
        *reinterpret_cast<Word*>(to) = pair;
      }
    }
  }
}

/// Writes a tile to its head, from row `first` on. A barrier must follow the last put_sums before
/// this call.
template <int rows, int width, int threads, class T>
TRIAX_DEVICE inline void store_rows(const Block& block, const HeadRows<T>& to, const T* tile,
                                    int first) {
  constexpr int pieces = width / 8;
  TRIAX_ROLLED
  for (int step = 0; step < rows * pieces / threads; ++step) {
    const int row = (step * threads + block.thread_x()) / pieces;
    const int piece = (step * threads + block.thread_x()) % pieces;
    if (to.has(first + row, piece))
      *reinterpret_cast<Piece*>(to.at(first + row, piece)) =
          *reinterpret_cast<const Piece*>(tile_piece<width>(tile, row, piece));
  }
}

/// Calls body(Type<T>{}, Width<width>{}) if tensor cores take the views: 16-bit elements, heads of
/// at most wide_head, rows in whole 16-byte pieces, and a scale above zero (which keeps the order
/// of scores). Otherwise returns false and does nothing.
template <class Body>
bool on_tensor_cores(const AttentionTask& task, std::initializer_list<const Tensor*> views,
                     const Body& body) {
  const DType type = (*views.begin())->dtype();
  if (!(task.scale > 0.0F)) return false;
  if (type == DType::f32 || task.head_size % 8 != 0 || task.head_size > wide_head) return false;
  return with_type(type, [&]<class T>(Type<T> element) {
    if constexpr (sizeof(T) == 2) {
      for (const Tensor* view : views)
        if (!aligned(heads_of<T>(*view))) return false;
      if (task.head_size <= narrow_head)
        body(element, Width<narrow_head>{});
      else
        body(element, Width<wide_head>{});
      return true;
    }
    return false;
  });
}

}  // namespace triax::cuda
