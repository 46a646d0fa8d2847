// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dropout of attention scores on tensor cores. One Philox counter block has the random halves of
// eight neighbouring keys of a query. Lanes compute four of them at a time and exchange the bits,
// so that each is computed once per warp.
#include "kernels/cuda/attention/attention_tile.hpp"

namespace triax::cuda {

/// AttentionTask::keeps for keys j to j + 3, one bit each. The four may straddle two Philox counter
/// blocks.
TRIAX_DEVICE inline std::uint32_t keeps_four(const AttentionTask& task, std::int64_t b, int h,
                                             int i, int j) {
  const std::int64_t head = task.first_head + b * task.total_heads + h;
  const auto at = static_cast<std::uint64_t>((head * task.length + i) * task.length + j);
  const auto inside = static_cast<int>(at % halves_of_block);
  std::uint32_t bits = 0;
  TRIAX_ROLLED
  for (int later = 0; later < (inside + 4 <= halves_of_block ? 1 : 2); ++later) {
    const PhiloxBlock made =
        philox_block(task.key, at / halves_of_block + static_cast<std::uint64_t>(later));
    const std::uint32_t words[] = {made.w0, made.w1, made.w2, made.w3};
    TRIAX_UNROLL
    for (int w = 0; w < halves_of_block; ++w) {
      const std::uint32_t half = half_of(words[w / halves_of_word], static_cast<std::uint64_t>(w));
      bits |= static_cast<std::uint32_t>(task.dropout.keeps(half)) << (later * halves_of_block + w);
    }
  }
  return bits >> inside & 15U;
}

/// Transposes bits between two lanes whose numbers differ in lane_mask: in every group of 2 n bits,
/// the upper n of the lower lane and the lower n of the upper lane are swapped. `lower` masks the
/// lower n bits of every group.
template <int n, std::uint64_t lower>
TRIAX_DEVICE inline std::uint64_t swap_halves(const Block& block, std::uint64_t bits,
                                              int lane_mask) {
  const std::uint64_t other = block.shuffle_xor(bits, lane_mask);
  return (block.thread_x() & lane_mask) == 0 ? (bits & lower) | (other & lower) << n
                                             : (bits & ~lower) | (other >> n & lower);
}
inline constexpr std::uint64_t lower_of_two = 0x5555555555555555U;
inline constexpr std::uint64_t lower_two_of_four = 0x3333333333333333U;

/// Bits that say which of a lane's scores dropout keeps: bit 4 k + i belongs to element i of the
/// k-th group of four. kept(row, column) returns the bits of a score and of the three keys after
/// it. Lanes make each such four once and exchange bits. The loop is not unrolled, because the
/// generator takes many registers. All lanes of the warp call it.
/// another, for the generator takes registers. All lanes of the warp call.
/// For scores with one query per row: the four keys are columns of two neighbouring lanes, and each
/// lane makes the bits of one row.
template <int strips, int columns, class Kept>
TRIAX_DEVICE inline std::uint64_t kept_along_rows(const Block& block, const Kept& kept) {
  static_assert(strips * columns <= 16);
  const int lane = block.thread_x() % warp;
  std::uint64_t bits = 0;
  TRIAX_ROLLED
  for (int k = 0; k < strips * columns; ++k) {
    const std::uint64_t four =
        kept(score_row(lane, k / columns, lane % 2 * 2), score_column(lane & ~1, k % columns, 0));
    bits |= four << 4 * k;
  }
  return swap_halves<2, lower_two_of_four>(block, bits, 1);
}

/// For transposed scores, with one key per row: the four keys are rows of four lanes, 4 apart, and
/// each lane makes the bits of one element.
template <int strips, int columns, class Kept>
TRIAX_DEVICE inline std::uint64_t kept_along_columns(const Block& block, const Kept& kept) {
  static_assert(strips * columns <= 16);
  const int lane = block.thread_x() % warp;
  const int element = lane / 4 % 4;
  std::uint64_t bits = 0;
  TRIAX_ROLLED
  for (int k = 0; k < strips * columns; ++k) {
    const std::uint64_t four =
        kept(score_row(lane & ~12, k / columns, element), score_column(lane, k % columns, element));
    bits |= four << 4 * k;
  }
  bits = swap_halves<1, lower_of_two>(block, bits, 4);
  return swap_halves<2, lower_two_of_four>(block, bits, 8);
}

/// Multiplies the scores whose bit is set by `factor`, and the others by zero.
template <int strips, int columns>
TRIAX_DEVICE inline void drop_scores(float (&x)[strips][columns][4], std::uint64_t bits,
                                     float factor) {
  TRIAX_UNROLL
  for (int strip = 0; strip < strips; ++strip) {
    TRIAX_UNROLL
    for (int n = 0; n < columns; ++n) {
      TRIAX_UNROLL
      for (int i = 0; i < 4; ++i)
        x[strip][n][i] *= (bits >> ((strip * columns + n) * 4 + i) & 1U) != 0 ? factor : 0.0F;
    }
  }
}

}  // namespace triax::cuda
