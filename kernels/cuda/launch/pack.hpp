// SPDX-License-Identifier: Apache-2.0
#pragma once
// Neighbouring elements: pieces of 16 bytes in memory, floats in registers. Kernels compute in
// float32 (in double where the host does) and round once, when they store.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/base/device/host_device.hpp"
#include "kernels/base/float16.hpp"
#include "kernels/cuda/launch/launch.hpp"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace triax::cuda {

/// Elements of T in one 16-byte access.
template <class T>
inline constexpr int wide = static_cast<int>(16 / sizeof(T));

/// A number of elements as a type, to pass as an argument.
template <int n>
using Width = std::integral_constant<int, n>;

TRIAX_DEVICE inline float widen(float value) {
  return value;
}
TRIAX_DEVICE inline void narrow(float& to, float value) {
  to = value;
}

#ifdef __CUDACC__
// The GPU's own conversions. They agree with float16.hpp except for the bits of a NaN.
TRIAX_DEVICE inline float widen(Bf16 value) {
  return __bfloat162float(__ushort_as_bfloat16(value.bits));
}
TRIAX_DEVICE inline float widen(F16 value) {
  return __half2float(__ushort_as_half(value.bits));
}
TRIAX_DEVICE inline void narrow(Bf16& to, float value) {
  to.bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
}
TRIAX_DEVICE inline void narrow(F16& to, float value) {
  to.bits = __half_as_ushort(__float2half_rn(value));
}
#else
inline float widen(Bf16 value) {
  return value;
}
inline float widen(F16 value) {
  return value;
}
inline void narrow(Bf16& to, float value) {
  to = value;
}
inline void narrow(F16& to, float value) {
  to = value;
}
#endif

/// value, rounded to T.
template <class T>
TRIAX_DEVICE inline float rounded(float value) {
  T element;
  narrow(element, value);
  return widen(element);
}

/// The memory moved by one access: 16 bytes.
struct alignas(16) Piece {
  std::uint32_t words[4];
};

/// to[0, wide<T>) = the elements of `piece`.
template <class T>
TRIAX_DEVICE inline void unpack(float* to, Piece piece) {
  if constexpr (std::is_same_v<T, Bf16>) {  // one instruction per element; cutting out halves would
                                            // take two
    TRIAX_UNROLL
    for (int w = 0; w < 4; ++w) {
      const std::uint32_t pair[] = {piece.words[w] << 16U, piece.words[w] & 0xffff0000U};
      std::memcpy(to + 2 * w, pair, sizeof pair);
    }
  } else {
    T values[wide<T>];
    std::memcpy(values, &piece, sizeof piece);
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) to[i] = widen(values[i]);
  }
}

/// from[0, wide<T>), rounded to T.
template <class T>
TRIAX_DEVICE inline Piece packed(const float* from) {
  T values[wide<T>];
  TRIAX_UNROLL
  for (int i = 0; i < wide<T>; ++i) narrow(values[i], from[i]);
  Piece piece;
  std::memcpy(&piece, values, sizeof piece);
  return piece;
}

/// to[0, n) = from[0, n). If n elements take 16 bytes or more, `from` is aligned to 16.
template <int n, class T>
TRIAX_DEVICE inline void load(float* to, const T* from) {
  if constexpr (n % wide<T> == 0) {
    TRIAX_UNROLL
    for (int at = 0; at < n; at += wide<T>)
      unpack<T>(to + at, *reinterpret_cast<const Piece*>(from + at));
  } else {
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) to[i] = widen(from[i]);
  }
}

/// to[0, n) = from[0, n), rounded. If n elements take 16 bytes or more, `to` is aligned to 16.
template <int n, class T>
TRIAX_DEVICE inline void store(T* to, const float* from) {
  if constexpr (n % wide<T> == 0) {
    TRIAX_UNROLL
    for (int at = 0; at < n; at += wide<T>)
      *reinterpret_cast<Piece*>(to + at) = packed<T>(from + at);
  } else {
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) narrow(to[i], from[i]);
  }
}

/// to[0, wide<T>) = the first `count` elements at `from`, and `rest` behind them. allowed: one
/// 16-byte access, for whole aligned pieces. A thread gets the same elements either way, so the
/// order of sums does not change.
template <bool allowed, class T>
TRIAX_DEVICE inline void load_piece(float* to, const T* from, std::int64_t count,
                                    float rest = 0.0F) {
  if constexpr (allowed) {
    load<wide<T>>(to, from);
  } else {
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) to[i] = i < count ? widen(from[i]) : rest;
  }
}

/// The piece at `from`, unconverted. Elements from `count` on are zero.
template <bool allowed, class T>
TRIAX_DEVICE inline Piece piece_at(const T* from, std::int64_t count) {
  if constexpr (allowed) {
    return *reinterpret_cast<const Piece*>(from);
  } else {
    T values[wide<T>] = {};
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i)
      if (i < count) values[i] = from[i];
    Piece piece;
    std::memcpy(&piece, values, sizeof piece);
    return piece;
  }
}

/// Writes the first `count` elements of `piece`.
template <bool allowed, class T>
TRIAX_DEVICE inline void put_piece(T* to, const Piece& piece, std::int64_t count) {
  if constexpr (allowed) {
    *reinterpret_cast<Piece*>(to) = piece;
  } else {
    T values[wide<T>];
    std::memcpy(values, &piece, sizeof piece);
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i)
      if (i < count) to[i] = values[i];
  }
}

/// Writes the first `count` of from[0, wide<T>), rounded.
template <bool allowed, class T>
TRIAX_DEVICE inline void store_piece(T* to, const float* from, std::int64_t count) {
  if constexpr (allowed) {
    store<wide<T>>(to, from);
  } else {
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i)
      if (i < count) narrow(to[i], from[i]);
  }
}

}  // namespace triax::cuda
