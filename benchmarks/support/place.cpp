// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/place.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/node_memory.hpp"
#include "kernels/base/process/host_name.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/random/random.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/comm/topology/topology.hpp"

namespace triax::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

// Values of all ranks, on rank 0.
std::vector<double> of_all_ranks(double value, const Ranks& ranks) {
  std::vector<double> values(static_cast<std::size_t>(ranks.all));
  MPI_Gather(&value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return values;
}

// Host of the rank with the least value, on rank 0.
std::string host_of_least(double value, const Ranks& ranks) {
  struct {
    double value;
    int rank;
  } least = {value, ranks.rank};
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  std::string host = host_name();
  host.resize(256);
  if (least.rank != 0 && ranks.rank == least.rank)
    MPI_Send(host.data(), 256, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  if (least.rank != 0 && ranks.rank == 0)
    MPI_Recv(host.data(), 256, MPI_CHAR, least.rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return host.c_str();
}

}  // namespace

std::int64_t bytes_beyond(std::int64_t cache_bytes, int threads) {
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  return std::max({4 * cache_bytes, 32 * mebi * threads, 128 * mebi});
}

Place::Place(MemorySpace space, const Ranks& ranks) : stream_(space), ranks_(ranks) {}

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

// Ranks of a node measure together and share its caches.
std::int64_t Place::bytes_beyond_caches() const {
  const std::int64_t caches =
      ranks_.of_node > 1 ? cache_bytes(CachesOf::node) / ranks_.of_node : cache_bytes();
  return bytes_beyond(caches, ranks_.threads);
}

Limit Place::memory_bandwidth() const {
  if (!device()) {
    const std::int64_t bytes = bytes_beyond_caches();
    require_memory("triad beyond the caches", 3.0 * static_cast<double>(bytes), ranks_.of_node);
    return measured("triad", "bytes_per_second", [=] { return measure_triad(bytes); });
  }
  constexpr std::int64_t bytes = std::int64_t{1} << 30;
  const Buffer from(bytes, space());
  const Buffer to(bytes, space());
  const Tensor source = from.tensor(DType::u8, {bytes});
  const Tensor target = to.tensor(DType::u8, {bytes});
  return measured("copy", "bytes_per_second", [&] {
    return Measured{2.0 * bytes, time([&] { copy(stream_, target, source); }).seconds};
  });
}

Limit Place::product_rate(DType type) const {
  if (!device() && type == DType::f32)
    return measured("float32 multiply-adds", "flops_per_second", measure_fma_peak);
  return measured(fmt::format("a large {} product", name_of(type)), "flops_per_second",
                  [=, this] { return large_product(type); });
}

Measured Place::large_product(DType type) const {
  // On the host, so large that each thread has the work of a 2048 x 2048 x 2048 product.
  const std::int64_t size = device() ? 8192 : 256 * std::lround(8.0 * std::cbrt(ranks_.threads));
  const RandomArray a(*this, type, {size, size});
  const RandomArray b(*this, type, {size, size});
  const RandomArray c(*this, type, {size, size});
  const auto timing = time([&] { matmul(stream_, c, a, b); });
  return {2.0 * static_cast<double>(size * size) * static_cast<double>(size), timing.seconds};
}

void Place::report(std::string_view benchmark, const std::string& name, const Timing& timing,
                   std::pair<std::string_view, double> rate, const Limit& limit) const {
  std::vector<std::pair<std::string_view, double>> figures = {
      rate, {"peak_fraction", rate.second / limit.per_second}};
  if (!device()) figures.emplace_back("cores", ranks_.cores);
  if (ranks_.rank == 0) print_result(benchmark, name, timing, figures, {{"limit", limit.name}});
}

Limit Place::measured(const std::string& name, std::string_view unit,
                      const std::function<Measured()>& measure) const {
  MPI_Barrier(MPI_COMM_WORLD);
  const Measured own = measure();
  double all = own.per_second();
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const std::vector<double> rates = of_all_ranks(own.per_second(), ranks_);
  const std::vector<double> seconds = of_all_ranks(own.seconds, ranks_);
  const std::string slowest = host_of_least(own.per_second(), ranks_);
  if (ranks_.rank != 0) return {name, all};
  std::vector<std::pair<std::string_view, double>> figures = {{unit, all}};
  std::vector<std::pair<std::string_view, std::string>> words;
  const Timing of_ranks = timing_of(rates);  // median and spread of the rates
  const std::string least = fmt::format("least_{}", unit), middle = fmt::format("median_{}", unit),
                    most = fmt::format("most_{}", unit);
  if (ranks_.all > 1) {
    const auto [low, high] = std::ranges::minmax(rates);
    figures.insert(figures.end(), {{least, low}, {middle, of_ranks.seconds}, {most, high}});
    words.emplace_back("slowest", slowest);
  }
  if (!device()) figures.emplace_back("cores", ranks_.cores);
  print_result("limits",
               fmt::format("{} ranks={}{}", name, ranks_.all,
                           device() ? "" : fmt::format(" threads={}", ranks_.threads)),
               {std::ranges::max(seconds), of_ranks.spread}, figures, words);
  return {name, all};
}

namespace {

void run_on_one_rank(bool on_device, int threads, void (*body)(const Place& place)) {
  const MemorySpace space = on_device ? MemorySpace::device : MemorySpace::host;
  const OwnCores cores(threads, space);
  cores.require_one_rank();
  const Place place(space, cores.ranks());
  cores.print_machine(on_device ? device_facts().name : "");
  body(place);
}

}  // namespace

int run_at_place(int argc, char** argv, const char* what, void (*body)(const Place& place)) {
  const MpiSession session(&argc, &argv);
  std::string place = "host";
  int threads = 0;
  CLI::App app{std::string(what) +
               ": one JSON line per case, with the fraction of the limit that is "
               "measured in the same run."};
  app.add_option("place", place, "Run on the cores of the host, or on a GPU")
      ->check(CLI::IsMember({"host", "device"}))
      ->capture_default_str();
  add_threads(app, threads);
  if (const auto status = refused(app, argc, argv, session.rank() == 0)) return *status;
  try {
    run_on_one_rank(place == "device", threads, body);
    return 0;
  } catch (const Error& error) {
    if (session.rank() == 0) fmt::print(stderr, "{}\n", error.what());
    return dynamic_cast<const UsageError*>(&error) != nullptr ? 2 : 3;
  }
}

namespace {

// On the host, pages are allocated near the threads that first write them.
Buffer made(MemorySpace space, std::size_t bytes) {
  return space == MemorySpace::host ? Buffer::unwritten(bytes) : Buffer(bytes, space);
}

}  // namespace

RandomArray::RandomArray(const Place& place, DType dtype, const Shape& shape)
    : buffer_(made(place.space(), static_cast<std::size_t>(shape.elements()) * size_of(dtype))),
      view_(buffer_.tensor(dtype, shape)) {
  fill_normal(place.stream(), view_, 1, 0, 0.0F, 1.0F);
}

}  // namespace triax::benchmark
