// SPDX-License-Identifier: Apache-2.0
// Limits of all ranks together, measured on all at once: STREAM's triad, float32 multiply-adds and
// a large product in bf16. With at least one rank on every node, prints the least, the median and
// the most of a rank, and the slowest rank's host: mpiexec -n N bench_limits.
#include <cstdio>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/place.hpp"
#include "src/comm/launch/mpi_session.hpp"

int main(int argc, char** argv) {
  using namespace triax;
  const MpiSession session(&argc, &argv);
  int threads = 0;
  CLI::App app{
      "Memory bandwidth and rates of products that all ranks have together: one JSON line each, "
      "with the least, median and most of a rank and the host of the slowest."};
  benchmark::add_threads(app, threads);
  if (const auto status = benchmark::refused(app, argc, argv, session.rank() == 0)) return *status;
  try {
    const benchmark::OwnCores cores(threads);
    cores.print_machine();
    const benchmark::Place place(MemorySpace::host, cores.ranks());
    place.memory_bandwidth();
    place.product_rate(DType::f32);
    place.product_rate(DType::bf16);
    return 0;
  } catch (const UsageError& error) {  // thrown on all ranks of a node alike
    fmt::print(stderr, "bench_limits: {}\n", error.what());
    session.abort(2);
  } catch (const Error& error) {
    fmt::print(stderr, "bench_limits: {}\n", error.what());
    session.abort(3);
  }
}
