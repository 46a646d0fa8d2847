#pragma once
// What this process can do at most, measured, so that every benchmark can say how far from it it
// is.
#include <cstdint>

namespace triax::benchmark {

/// An amount of work, and the time of the best of several runs.
struct Measured {
  double amount = 0, seconds = 0;
  double per_second() const { return amount / seconds; }
};

/// Float32 multiply-adds of all threads that kernels have here (KernelRuntime), in FLOP (two a
/// multiply-add), of a loop that keeps every accumulator in a register.
Measured measure_fma_peak();

/// Bytes through memory that those threads move together: a[i] = b[i] + s c[i] on arrays of so many
/// bytes (McCalpin's STREAM triad, counted as he does: 3 moves an element). The processor may read
/// what is written, too, which is not counted: a kernel that writes where it reads, or past the
/// caches, can have 4/3 of this.
Measured measure_triad(std::int64_t array_bytes);

}  // namespace triax::benchmark
