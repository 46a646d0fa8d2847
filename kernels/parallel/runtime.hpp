// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace triax {

/// Starts Kokkos and sets the number of threads for Kokkos and oneDNN; limits oneDNN's instructions
/// if isa_in_use() is below the best. Stops Kokkos when destroyed. Exactly one must live in a
/// process, in main(), from before the first kernel until after the last.
class KernelRuntime {
 public:
  /// `threads` >= 1: cores this rank may use.
  explicit KernelRuntime(int threads = 1);
  ~KernelRuntime();
  KernelRuntime(const KernelRuntime&) = delete;
  KernelRuntime& operator=(const KernelRuntime&) = delete;
};

}  // namespace triax
