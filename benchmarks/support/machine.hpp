// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits of this process, measured, so that every benchmark can state its distance from them.
#include <cstdint>

namespace triax::benchmark {

/// An amount of work, and the time of the fastest of several runs.
struct Measured {
  double amount = 0, seconds = 0;
  double per_second() const { return amount / seconds; }
};

/// Float32 multiply-adds (FLOP, two per multiply-add) of all threads that kernels use
/// (KernelRuntime), in a loop that keeps every accumulator in a register.
Measured measure_fma_peak();

/// Bytes that these threads move through memory together: a[i] = b[i] + s c[i] on arrays of
/// `array_bytes` (McCalpin's STREAM triad, with his count of 3 moves per element). The processor
/// may also read what is written, which is not counted: a kernel that writes where it reads, or
/// past the caches, can reach 4/3 of this.
Measured measure_triad(std::int64_t array_bytes);

}  // namespace triax::benchmark
