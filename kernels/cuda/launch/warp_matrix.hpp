// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor-core operations of a warp, and asynchronous copies to shared memory. T is Bf16 or F16. The
// nvcc and the emulator versions stand side by side, as in pack.hpp. Lane l has the numbers g = l /
// 4 and t = l % 4:
// clang-format off
//   d (16 x 8):   d[0], d[1] = row g, columns 2t and 2t + 1
//                 d[2], d[3] = the same of row g + 8
//   a (16 x 16):  a[0] = row g, columns 2t and 2t + 1
//                 a[1] = the same of row g + 8
//                 a[2], a[3] = those two, 8 columns further
//   b (16 x 8):   b0 = rows 2t and 2t + 1 of column g
//                 b1 = the same, 8 rows further
// clang-format on
// Layouts: PTX ISA, mma.m16n8k16. All lanes of a warp must call each function.
#include <cstdint>

#include "kernels/base/check.hpp"
#include "kernels/cuda/launch/pack.hpp"

namespace triax::cuda {

using Word = std::uint32_t;  // two neighbouring 16-bit elements, the first in the low half

// Put before a loop whose iterations should share registers.
#ifdef __CUDA_ARCH__
#define TRIAX_ROLLED _Pragma("unroll 1")
#define TRIAX_UNROLL_2 _Pragma("unroll 2")
#else
#define TRIAX_ROLLED
#define TRIAX_UNROLL_2
#endif

#ifdef __CUDACC__

TRIAX_DEVICE inline unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

/// Two floats rounded.
template <class T>
TRIAX_DEVICE inline Word pack_pair(float low, float high) {
  Word word;
  if constexpr (std::is_same_v<T, Bf16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    std::memcpy(&word, &pair, sizeof word);
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    std::memcpy(&word, &pair, sizeof word);
  }
  return word;
}

/// d += a b.
template <class T>
TRIAX_DEVICE inline void multiply_add(const Block&, float (&d)[4], const Word (&a)[4], Word b0,
                                      Word b1) {
  if constexpr (std::is_same_v<T, Bf16>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Loads four 8 x 8 matrices of 16-bit elements from shared memory. `row` of lane 8 m + i points to
/// row i of matrix m (16 bytes). to[m] gets columns 2t and 2t + 1 of row g of matrix m.
TRIAX_DEVICE inline void load_matrices(const Block&, Word (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
/// Loads four 8 x 8 matrices and transposes them: to[m] gets rows 2t and 2t + 1 of column g.
TRIAX_DEVICE inline void load_transposed(const Block&, Word (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

/// Begins an asynchronous copy of 4 or 16 bytes, aligned to their number, to shared memory. Copies
/// zeros unless `present`.
template <int bytes>
TRIAX_DEVICE inline void begin_copy(const Block&, void* to, const void* from, bool present) {
  static_assert(bytes == 4 || bytes == 16);
  const int read = present ? bytes : 0;
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(read)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(read)
                 : "memory");
}
/// Waits for the copies begun by this thread. Other threads see them after the next barrier.
TRIAX_DEVICE inline void finish_copies(const Block&) {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#else

template <class T>
Word pack_pair(float low, float high) {
  const T pair[2] = {T(low), T(high)};
  Word word = 0;
  std::memcpy(&word, pair, sizeof word);
  return word;
}

template <class T>
void multiply_add(const Block& block, float (&d)[4], const Word (&a)[4], Word b0, Word b1) {
  struct Lane {
    float* d;
    const Word* a;
    Word b[2];
  } mine{d, a, {b0, b1}};
  block.together(&mine, [](void* const* lanes) {
    float left[16][16], right[16][8];
    const auto split = [](Word word, float& low, float& high) {
      T pair[2];
      std::memcpy(pair, &word, sizeof word);
      low = pair[0];
      high = pair[1];
    };
    for (int l = 0; l < warp; ++l) {
      const auto& lane = *static_cast<const Lane*>(lanes[l]);
      const int g = l / 4, t = l % 4;
      for (int i = 0; i < 4; ++i) {
        float* pair = &left[g + i % 2 * 8][2 * t + i / 2 * 8];
        split(lane.a[i], pair[0], pair[1]);
      }
      for (int i = 0; i < 2; ++i)
        split(lane.b[i], right[2 * t + 8 * i][g], right[2 * t + 8 * i + 1][g]);
    }
    for (int row = 0; row < 16; ++row) {
      float sum[8] = {};
      for (int k = 0; k < 16; ++k)
        for (int column = 0; column < 8; ++column) sum[column] += left[row][k] * right[k][column];
      for (int column = 0; column < 8; ++column)
        static_cast<const Lane*>(lanes[row % 8 * 4 + column / 2])->d[row / 8 * 2 + column % 2] +=
            sum[column];
    }
  });
}

namespace emulator {
// Reads 8 x 8 matrices through the row pointers of the lanes: element(row, column of matrix m).
template <bool transposed>
void load_matrices(const Block& block, Word (&to)[4], const void* row) {
  check(reinterpret_cast<std::uintptr_t>(row) % 16 == 0, "a row of a matrix at {}", row);
  struct Lane {
    Word* to;
    const void* row;
  } mine{to, row};
  block.together(&mine, [](void* const* lanes) {
    const auto element = [&](int m, int i, int j) {
      return static_cast<const std::uint16_t*>(static_cast<const Lane*>(lanes[8 * m + i])->row)[j];
    };
    for (int l = 0; l < warp; ++l)
      for (int m = 0; m < 4; ++m) {
        const int g = l / 4, t = l % 4;
        const Word low = transposed ? element(m, 2 * t, g) : element(m, g, 2 * t);
        const Word high = transposed ? element(m, 2 * t + 1, g) : element(m, g, 2 * t + 1);
        static_cast<const Lane*>(lanes[l])->to[m] = low | high << 16U;
      }
  });
}
}  // namespace emulator

inline void load_matrices(const Block& block, Word (&to)[4], const void* row) {
  emulator::load_matrices<false>(block, to, row);
}
inline void load_transposed(const Block& block, Word (&to)[4], const void* row) {
  emulator::load_matrices<true>(block, to, row);
}

template <int bytes>
void begin_copy(const Block& block, void* to, const void* from, bool present) {
  block.begin_copy(to, from, bytes, present);
}
inline void finish_copies(const Block& block) {
  block.finish_copies();
}

#endif

}  // namespace triax::cuda
