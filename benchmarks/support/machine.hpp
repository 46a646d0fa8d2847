#pragma once
// The limits of this machine, measured, so that every benchmark can say how far from them it is.

namespace triax::benchmark {

/// Float32 multiply-adds of all threads that kernels have here (KernelRuntime), in FLOP/s (two a
/// multiply-add): the best of several runs of a loop that keeps every accumulator in a register.
double measure_fma_peak();

/// Memory bandwidth that those threads have together, in bytes/s: a[i] = b[i] + s c[i] on arrays
/// far larger than the caches (McCalpin's STREAM triad, counted as 3 moves an element), the best of
/// several runs.
double measure_triad_bandwidth();

}  // namespace triax::benchmark
