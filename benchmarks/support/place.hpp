// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host or GPU that a benchmark of kernels runs on, and its limits.
#include <functional>
#include <string>

#include "benchmarks/support/machine.hpp"
#include "benchmarks/support/own_cores.hpp"
#include "benchmarks/support/report.hpp"
#include "kernels/base/device/device.hpp"

namespace triax::benchmark {

/// A measured limit that a rate is compared with.
struct Limit {
  std::string name;  // "triad"
  double per_second = 0;
};

/// Bytes of an array that exceeds caches of `cache_bytes`: four times them, as in STREAM, and
/// enough for each thread.
std::int64_t bytes_beyond(std::int64_t cache_bytes, int threads);

class Place {
 public:
  /// Throws an Error if there is no GPU.
  Place(MemorySpace space, const Ranks& ranks);

  bool device() const { return stream_.space() == MemorySpace::device; }
  MemorySpace space() const { return stream_.space(); }
  const Stream& stream() const { return stream_; }

  /// Median time of a call of `body`, which issues work on the stream. On a device many calls are
  /// timed at a time, so that the host stays ahead.
  Timing time(const std::function<void()>& body) const;

  /// Bytes of a tensor that exceeds the caches of the host's cores.
  std::int64_t bytes_beyond_caches() const;

  /// Limits of all ranks together, measured on all at once. Rank 0 prints a line of the benchmark
  /// "limits" with the slowest rank's host. Collective.
  /// Memory bandwidth (bytes/s): STREAM's triad on the host's threads, a copy on a device. Every
  /// byte counts when read and when written.
  Limit memory_bandwidth() const;
  /// Attainable rate of products of `type` (FLOP/s): the host's float32 multiply-adds, or else the
  /// rate of a large square product.
  Limit product_rate(DType type) const;

  /// Measures a large square product.
  Measured large_product(DType type) const;

  /// Prints the line of a case. Its rate is compared with a limit.
  void report(std::string_view benchmark, const std::string& name, const Timing& timing,
              std::pair<std::string_view, double> rate, const Limit& limit) const;

 private:
  Limit measured(const std::string& name, std::string_view unit,
                 const std::function<Measured()>& measure) const;

  Stream stream_;
  Ranks ranks_;
};

/// The main function of a kernel benchmark: runs `body` on "host" or "device", as the command line
/// says, on one rank. what: description for --help. Returns the exit status: 2, with the reason on
/// stderr, if there is no such device.
int run_at_place(int argc, char** argv, const char* what, void (*body)(const Place& place));

/// Normally distributed numbers on the host or a device. Products of zeros would draw less power
/// and run at a higher clock.
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
