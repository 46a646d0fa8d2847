#pragma once
// Which scores attention's dropout keeps, on tensor cores. A block of the generator has the halves
// of eight neighbouring keys of a query, of which each four are made once, by one of the lanes that
// hold them.
#include "kernels/cuda/attention/attention_tile.hpp"

namespace triax::cuda {

/// AttentionTask::keeps for keys j to j + 3, a bit each: of one block, or of two where they lie in
/// two.
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

/// Transposes bits over two lanes whose numbers differ in lane_mask: of each 2 n bits, the upper n
/// of the lane with the lower number and the lower n of the other change places. `lower`: the lower
/// n of each 2 n.
template <int n, std::uint64_t lower>
TRIAX_DEVICE inline std::uint64_t swap_halves(const Block& block, std::uint64_t bits,
                                              int lane_mask) {
  const std::uint64_t other = block.shuffle_xor(bits, lane_mask);
  return (block.thread_x() & lane_mask) == 0 ? (bits & lower) | (other & lower) << n
                                             : (bits & ~lower) | (other >> n & lower);
}
inline constexpr std::uint64_t lower_of_two = 0x5555555555555555U;
inline constexpr std::uint64_t lower_two_of_four = 0x3333333333333333U;

/// Which of a lane's scores dropout keeps, bit 4 k + i for element i of the k-th four. kept(row,
/// column) has a bit for that score and for the three beside it, which share a block of
/// the generator: lanes make each such four once, and hand each other what is theirs. One after
/// another, for the generator takes registers. All lanes of the warp call.
///
/// Four columns, of two neighbouring lanes: each makes those of one of their rows.
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

/// Four rows, of lanes 4 apart: each makes those of one of its elements.
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

/// Multiplies those whose bit is set by `factor`, and the others by zero.
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
