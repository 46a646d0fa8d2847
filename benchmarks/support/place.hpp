#pragma once
// Where a benchmark of kernels runs, and the limits of that place.
#include <functional>

#include "benchmarks/support/report.hpp"
#include "kernels/base/device.hpp"

namespace triax::benchmark {

class Place {
 public:
  /// The host or a GPU. An Error where there is none.
  explicit Place(MemorySpace space) : stream_(space) {}

  bool device() const { return stream_.space() == MemorySpace::device; }
  MemorySpace space() const { return stream_.space(); }
  const Stream& stream() const { return stream_; }

  /// The median time of a call of `body`, which issues work on the stream. On a device calls are
  /// timed many at a time, so that the host is ahead of it.
  Timing time(const std::function<void()>& body) const;

  /// Bytes/s that pass through memory: STREAM's triad on the host's threads, a copy on a device,
  /// every byte counted as it is read and as it is written.
  double memory_bandwidth() const;
  /// FLOP/s that products of `type` can have: float32 multiply-adds of the host's threads
  /// whatever the type, and what a large square product has on a device.
  double product_rate(DType type) const;

 private:
  Stream stream_;
};

/// The main function of a benchmark of kernels: `body` at the place that the command line names,
/// "host" or "device"; `what` it measures, for --help. What the program ends with: 2 and the reason
/// on standard error where there is no such place.
int run_at_place(int argc, const char* const* argv, const char* what,
                 void (*body)(const Place& place));

/// Memory of a place with normally distributed numbers: products of zeros draw less power, and run
/// at a higher clock.
class RandomArray {
 public:
  RandomArray(const Place& place, DType dtype, const Shape& shape);
  const Tensor& view() const { return view_; }
  operator const Tensor&() const { return view_; }

 private:
  Buffer buffer_;
  Tensor view_;
};

}  // namespace triax::benchmark
