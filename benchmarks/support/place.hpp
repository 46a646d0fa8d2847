#pragma once
// Where a benchmark of kernels runs, and the limits of that place.
#include <functional>
#include <string>

#include "benchmarks/support/machine.hpp"
#include "benchmarks/support/own_cores.hpp"
#include "benchmarks/support/report.hpp"
#include "kernels/base/device/device.hpp"

namespace triax::benchmark {

/// What a rate is held against.
struct Limit {
  std::string name;  // "triad"
  double per_second = 0;
};

/// Bytes of an array that is beyond caches of so many: four times them, as STREAM has it, and
/// enough for each thread.
std::int64_t bytes_beyond(std::int64_t cache_bytes, int threads);

class Place {
 public:
  /// The host or a GPU. An Error where there is none.
  Place(MemorySpace space, const Ranks& ranks);

  bool device() const { return stream_.space() == MemorySpace::device; }
  MemorySpace space() const { return stream_.space(); }
  const Stream& stream() const { return stream_; }

  /// The median time of a call of `body`, which issues work on the stream. On a device calls are
  /// timed many at a time, so that the host is ahead of it.
  Timing time(const std::function<void()>& body) const;

  /// Of a tensor that the caches of the host's cores do not hold.
  std::int64_t bytes_beyond_caches() const;

  /// Limits of all ranks together, which they measure at once, and of which rank 0 prints a line of
  /// the benchmark "limits", with the slowest rank's host. Collective.
  /// Bytes/s that pass through memory: STREAM's triad on the host's threads, a copy on a device,
  /// every byte counted as it is read and as it is written.
  Limit memory_bandwidth() const;
  /// FLOP/s that products of `type` can have: the host's float32 multiply-adds, else what a large
  /// square product has.
  Limit product_rate(DType type) const;

  /// A large square product.
  Measured large_product(DType type) const;

  /// Prints the line of a case, its rate among `figures` held against a limit.
  void report(std::string_view benchmark, const std::string& name, const Timing& timing,
              std::pair<std::string_view, double> rate, const Limit& limit) const;

 private:
  Limit measured(const std::string& name, std::string_view unit,
                 const std::function<Measured()>& measure) const;

  Stream stream_;
  Ranks ranks_;
};

/// The main function of a benchmark of kernels: `body` at the place that the command line names,
/// "host" or "device", on one rank; `what` it measures, for --help. What the program ends with: 2
/// and the reason on standard error where there is no such place.
int run_at_place(int argc, char** argv, const char* what, void (*body)(const Place& place));

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
