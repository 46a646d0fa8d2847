#include "benchmarks/support/place.hpp"

#include <chrono>
#include <string>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/machine.hpp"
#include "kernels/base/runtime.hpp"
#include "kernels/matmul.hpp"
#include "kernels/random.hpp"

namespace triax::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Timing Place::time(const std::function<void()>& body) const {
  if (!device()) return time_median(body);
  constexpr double long_enough = 5e-3;
  constexpr double in_all = 0.5;
  constexpr std::size_t least_runs = 7;
  const auto seconds_of = [&](int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) body();
    stream_.synchronize();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  seconds_of(1);
  int calls = 1;
  while (seconds_of(calls) < long_enough) calls *= 2;
  std::vector<double> seconds;
  for (double total = 0.0; total < in_all || seconds.size() < least_runs;) {
    const double run = seconds_of(calls);
    total += run;
    seconds.push_back(run / calls);
  }
  return timing_of(std::move(seconds));
}

double Place::memory_bandwidth() const {
  if (!device()) return measure_triad_bandwidth();
  constexpr std::int64_t bytes = std::int64_t{1} << 30;
  const Buffer from(bytes, space());
  const Buffer to(bytes, space());
  const Tensor source = from.tensor(DType::u8, {bytes});
  const Tensor target = to.tensor(DType::u8, {bytes});
  return 2.0 * bytes / time([&] { copy(stream_, target, source); }).seconds;
}

double Place::product_rate(DType type) const {
  if (!device()) return measure_fma_peak();
  constexpr std::int64_t size = 8192;
  const RandomArray a(*this, type, {size, size});
  const RandomArray b(*this, type, {size, size});
  const RandomArray c(*this, type, {size, size});
  const auto timing = time([&] { matmul(stream_, c, a, b); });
  return 2.0 * static_cast<double>(size * size) * size / timing.seconds;
}

int run_at_place(int argc, const char* const* argv, const char* what,
                 void (*body)(const Place& place)) {
  std::string place = "host";
  int threads = 1;
  CLI::App app{std::string(what) +
               ": one JSON line a case, with the fraction of the limit that is "
               "measured in the same run."};
  app.add_option("place", place, "Where they run: cores of the host, or a GPU")
      ->check(CLI::IsMember({"host", "device"}))
      ->capture_default_str();
  app.add_option("--threads", threads, "Cores of the host, which the limits are measured on too")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  if (const auto status = refused(app, argc, argv)) return *status;
  try {
    const KernelRuntime runtime(threads);
    body(Place(place == "device" ? MemorySpace::device : MemorySpace::host));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}

RandomArray::RandomArray(const Place& place, DType dtype, const Shape& shape)
    : buffer_(static_cast<std::size_t>(shape.elements()) * size_of(dtype), place.space()),
      view_(buffer_.tensor(dtype, shape)) {
  fill_normal(place.stream(), view_, 1, 0, 0.0F, 1.0F);
}

}  // namespace triax::benchmark
