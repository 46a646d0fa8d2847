// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counter-based random numbers (Philox4x32-10, Salmon et al. 2011): element i of a stream depends
// only on (key, i), never on the rank, so every rank can make its own shard of a tensor.
#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/base/device/device.hpp"

namespace triax {

/// Philox4x32-10 as published (Random123): four words from a 128-bit counter and a 64-bit key, low
/// words first.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// The four 32-bit words of counter block `counter` (its high 64 bits are zero) under `key`.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter);

/// words[i] = word (first_index + i) of the stream of `key`; word j is philox(key, j / 4)[j % 4].
/// fill_normal uses the words, and dropout their 16-bit halves (dropout_mask.hpp). `words` is host
/// memory; first_index >= 0.
void random_words(std::uint32_t* words, std::int64_t count, std::uint64_t key,
                  std::int64_t first_index);

/// Mixes a seed and a name, such as a tensor's, into a key.
std::uint64_t mix_key(std::uint64_t seed, std::string_view name);
/// Mixes a key and a number, such as a step, into a key.
std::uint64_t mix_key(std::uint64_t key, std::uint64_t number);

/// out[i] = mean + deviation * n(first_index + i), n standard normal: Box-Muller on the words of
/// the stream of `key`; words 2 j and 2 j + 1 make elements 2 j and 2 j + 1. out: contiguous;
/// 16-bit types round the same float32 numbers.
void fill_normal(const Stream& stream, const Tensor& out, std::uint64_t key,
                 std::int64_t first_index, float mean, float deviation);

/// out[i] = value. out: contiguous.
void fill_constant(const Stream& stream, const Tensor& out, float value);

}  // namespace triax
