#pragma once
// The libraries below the kernels, started and stopped with one object in main().

namespace triax {

/// Starts Kokkos and sets the threads of a rank for Kokkos and oneDNN, and the processor's
/// instructions for oneDNN where isa_in_use() is not the best; stops Kokkos when destroyed.
/// Exactly one lives in a process, from before the first kernel until after the last.
class KernelRuntime {
 public:
  /// `threads` >= 1: cores this rank may use.
  explicit KernelRuntime(int threads = 1);
  ~KernelRuntime();
  KernelRuntime(const KernelRuntime&) = delete;
  KernelRuntime& operator=(const KernelRuntime&) = delete;
};

}  // namespace triax
