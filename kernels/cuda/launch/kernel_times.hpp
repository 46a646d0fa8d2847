// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time that a stream's kernels take, by name, for benchmarks. Two events around a launch measure
// it, which costs a few microseconds and leaves a gap. A stream that is not timed has no events.
#include <string>
#include <vector>

#include "kernels/cuda/launch/stream.hpp"

namespace triax::cuda {

struct KernelTime {
  std::string name;
  int calls = 0;
  double seconds = 0.0;  // sum over all calls
};

/// Starts timing the kernels launched on `stream`.
void time_kernels(const Stream& stream);
/// Waits for the stream, stops timing, and returns the times since time_kernels(), the longest
/// first.
std::vector<KernelTime> kernel_times(const Stream& stream);

/// Times the launch of kernel `name` for the lifetime of this object.
class KernelTimer {
 public:
  KernelTimer(const Stream& stream, const char* name);
  ~KernelTimer();
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

 private:
  void* times_;  // the stream's; null if it is not timed
};

}  // namespace triax::cuda
