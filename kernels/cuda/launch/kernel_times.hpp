#pragma once
// How long the kernels of a stream take, by name: for benchmarks. Each is timed by two events
// around its launch, which costs a few microseconds and leaves a gap; a stream that is not asked
// has none.
#include <string>
#include <vector>

#include "kernels/cuda/launch/stream.hpp"

namespace triax::cuda {

struct KernelTime {
  std::string name;
  int calls = 0;
  double seconds = 0.0;  // of all calls
};

/// What `stream` is given from here on is timed.
void time_kernels(const Stream& stream);
/// The times of what was given since, the longest first; waits for it, and times no more.
std::vector<KernelTime> kernel_times(const Stream& stream);

/// Of the launch of a kernel `name`: the scope's.
class KernelTimer {
 public:
  KernelTimer(const Stream& stream, const char* name);
  ~KernelTimer();
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

 private:
  void* times_;  // of the stream; null: not timed
};

}  // namespace triax::cuda
