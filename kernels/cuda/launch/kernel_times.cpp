// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch/kernel_times.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "kernels/cuda/launch/moment.hpp"

namespace triax::cuda {
namespace {

struct Call {
  const char* name;
  Moment begin, end;
};

struct Times {
  explicit Times(void* of) : stream(static_cast<cudaStream_t>(of)) {}
  cudaStream_t stream;
  std::vector<Call> calls;
};

// Readable name of a kernel from the compiler's type name, such as "SumRows<Bf16, 8>".
std::string readable(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string found = status == 0 ? text : name;
  std::free(text);
  for (const std::string part : {"(anonymous namespace)::", "triax::", "cuda::"})
    for (auto at = found.find(part); at != std::string::npos; at = found.find(part))
      found.erase(at, part.size());
  return found;
}

}  // namespace

void time_kernels(const Stream& stream) {
  kept_by<Times>(stream, Kept::times, native_stream(stream));
}

std::vector<KernelTime> kernel_times(const Stream& stream) {
  stream.synchronize();
  const std::shared_ptr<void> kept = std::exchange(kept_by(stream, Kept::times), nullptr);
  std::map<std::string, KernelTime> by_name;
  if (kept)
    for (const Call& call : static_cast<const Times*>(kept.get())->calls) {
      KernelTime& time = by_name[call.name];
      ++time.calls;
      time.seconds += 1e-3 * static_cast<double>(milliseconds_between(call.begin, call.end));
    }
  std::vector<KernelTime> times;
  for (auto& [name, time] : by_name) {
    time.name = readable(name.c_str());
    times.push_back(std::move(time));
  }
  std::ranges::sort(times, std::greater<>(), &KernelTime::seconds);
  return times;
}

KernelTimer::KernelTimer(const Stream& stream, const char* name)
    : times_(kept_by(stream, Kept::times).get()) {
  if (times_ == nullptr) return;
  auto& times = *static_cast<Times*>(times_);
  times.calls.push_back({name, {}, {}});
  times.calls.back().begin.record(times.stream);
}

KernelTimer::~KernelTimer() {
  if (times_ == nullptr) return;
  const auto& times = *static_cast<Times*>(times_);
  cudaEventRecord(times.calls.back().end.get(), times.stream);  // a failure shows at the next call
}

}  // namespace triax::cuda
