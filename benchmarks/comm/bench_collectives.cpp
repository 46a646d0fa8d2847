// Collectives over all ranks of the job, from 4 KB to 500 MB: mpiexec -n N bench_collectives
// [LARGEST_BYTES]. One JSON line a case. The rate is of the bytes that leave a rank by the textbook
// ring; the limit is what two neighbours exchange by plain messages of the same bytes in the same
// run.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "benchmarks/support/report.hpp"
#include "src/comm/mpi_session.hpp"
#include "src/comm/process_grid.hpp"

namespace {

const triax::Stream stream;

using triax::Communicator;
using triax::DType;
using triax::Tensor;
using triax::benchmark::Timing;

// Of the slowest rank, each time.
Timing measure(Communicator& world, std::int64_t bytes, const std::function<void()>& body) {
  constexpr std::int64_t bytes_in_all = 3'000'000'000;
  const auto repetitions = std::clamp<std::int64_t>(bytes_in_all / bytes, 7, 200);
  body();
  std::vector<double> times(static_cast<std::size_t>(repetitions));
  for (double& seconds : times) {
    world.barrier(stream).wait(stream);
    const double start = MPI_Wtime();
    body();
    seconds = MPI_Wtime() - start;
  }
  world.all_reduce(stream, Tensor(times.data(), {repetitions}), triax::ReduceOp::max).wait(stream);
  return triax::benchmark::timing_of(std::move(times));
}

// Each rank sends `bytes` to the next and receives as many from the one before.
void exchange(Communicator& world, const Tensor& out, const Tensor& in) {
  const int size = world.size();
  auto receive = world.receive(stream, in, (world.rank() + size - 1) % size, 0);
  auto send = world.send(stream, out, (world.rank() + 1) % size, 0);
  send.wait(stream);
  receive.wait(stream);
}

void run_size(triax::ProcessGrid& grid, const Tensor& data, const Tensor& other) {
  Communicator& world = grid.world();
  const int size = world.size();
  const std::int64_t part = data.elements() / size;
  const Tensor mine = data.slice(0, world.rank() * part, part);
  const std::uint64_t leaving =
      triax::ring::all_gather(size, static_cast<std::uint64_t>(data.bytes())).bytes;

  struct Case {
    const char* name;
    std::uint64_t sent;
    std::function<void()> body;
  };
  const auto sent_elements = static_cast<std::int64_t>(leaving / sizeof(float));
  const std::vector<Case> cases = {
      {"exchange", leaving,
       [&] { exchange(world, data.slice(0, 0, sent_elements), other.slice(0, 0, sent_elements)); }},
      {"all_reduce", 2 * leaving, [&] { world.all_reduce(stream, data).wait(stream); }},
      {"reduce_scatter", leaving,
       [&] { world.reduce_scatter(stream, other.slice(0, 0, part), data).wait(stream); }},
      {"reduce_scatter_in_place", leaving,
       [&] { world.reduce_scatter(stream, mine, data).wait(stream); }},
      {"all_gather_in_place", leaving, [&] { world.all_gather(stream, data, mine).wait(stream); }},
  };
  const char* const waits = grid.wait_policy() == triax::WaitPolicy::spin ? "spin" : "yield";
  double limit = 0;
  for (const Case& c : cases) {
    triax::fill_zero(triax::Stream(), data);
    const Timing timing = measure(world, data.bytes(), c.body);
    const double rate = static_cast<double>(c.sent) / timing.seconds;
    if (limit == 0) limit = rate;
    if (world.rank() == 0)
      triax::benchmark::print_result(
          "collectives",
          fmt::format("{} ranks={} bytes={} wait={}", c.name, size, data.bytes(), waits), timing,
          {{"bytes_per_second", rate}, {"peak_fraction", rate / limit}});
  }
}

void run(const triax::MpiSession& session, std::int64_t largest) {
  triax::ProcessGrid grid(MPI_COMM_WORLD, {.data = session.size()});
  for (const std::int64_t bytes : {4'000LL, 64'000LL, 1'000'000LL, 25'000'000LL, 500'000'000LL}) {
    if (bytes > largest) break;
    const std::int64_t elements =
        bytes / static_cast<std::int64_t>(sizeof(float)) / session.size() * session.size();
    const auto allocated = static_cast<std::size_t>(elements) * sizeof(float);
    const triax::Buffer data(allocated);
    const triax::Buffer other(allocated);
    run_size(grid, data.tensor(DType::f32, {elements}), other.tensor(DType::f32, {elements}));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const triax::MpiSession session(&argc, &argv);
  try {
    if (session.size() < 2)
      throw triax::UsageError("one rank has no collectives", "", "Start 2 or more");
    run(session, argc > 1 ? std::atoll(argv[1]) : 500'000'000);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    session.abort(3);
  }
}
