// SPDX-License-Identifier: Apache-2.0
// Collectives over all ranks of the job, from 4 KB to 500 MB: mpiexec -n N bench_collectives
// [LARGEST_BYTES [SMALLEST_BYTES]].
// Prints one JSON line per case: by MPI, and, if all ranks are on one node or every node has the
// same number of ranks, through memory shared by the ranks of a node ("node"). The rate counts the
// bytes that leave a rank in the textbook ring. Limits are measured in the same run: peak_fraction
// is relative to what two neighbours exchange by plain messages; memory_fraction, for the largest
// sizes on one node, compares the bytes that a rank must read and write of its own tensors with the
// memory bandwidth of all ranks together.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/node_memory.hpp"
#include "benchmarks/support/report.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/comm/host/hierarchical_exchange.hpp"
#include "src/comm/host/node_communicator.hpp"
#include "src/comm/host/node_exchange.hpp"
#include "src/comm/launch/mpi_session.hpp"

namespace {

const triax::Stream stream;

using triax::Communicator;
using triax::DType;
using triax::Tensor;
using triax::benchmark::Timing;

// Times of the slowest rank.
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

// Each rank sends `bytes` to the next rank and receives the same number from the previous one.
void exchange(Communicator& world, const Tensor& out, const Tensor& in) {
  const int size = world.size();
  auto receive = world.receive(stream, in, (world.rank() + size - 1) % size, 0);
  auto send = world.send(stream, out, (world.rank() + 1) % size, 0);
  send.wait(stream);
  receive.wait(stream);
}

// All ranks read and write their tensor in place: the least that a sum over ranks can do.
void scale(const Tensor& data) {
  auto* const p = data.as<float>();
  const std::int64_t n = data.elements();
  for (std::int64_t i = 0; i < n; ++i) p[i] *= 1.5F;
}

// McCalpin's STREAM triad with his count of 3 moves per element: a second measure of the same
// bandwidth.
void triad(const Tensor& data, const Tensor& other) {
  const std::int64_t n = data.elements() / 2;
  auto* const a = data.as<float>();
  const float* const b = a + n;
  const float* const c = other.as<float>();
  for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] + 1.5F * c[i];
}

struct Case {
  std::string name;
  std::uint64_t sent;    // by one rank
  std::uint64_t memory;  // that one rank must read and write
  std::function<void()> body;
};

std::vector<Case> collectives(Communicator& ranks, const std::string& way, const Tensor& data,
                              const Tensor& other) {
  const int size = ranks.size();
  const std::int64_t part = data.elements() / size;
  const Tensor mine = data.slice(0, ranks.rank() * part, part);
  const Tensor apart = other.slice(0, 0, part);
  const auto all = static_cast<std::uint64_t>(data.bytes());
  const auto own = static_cast<std::uint64_t>(mine.bytes());
  const std::uint64_t leaving = triax::ring::all_gather(size, all).bytes;
  return {
      {"all_reduce" + way, 2 * leaving, 2 * all,
       [=, &ranks] { ranks.all_reduce(stream, data).wait(stream); }},
      {"reduce_scatter" + way, leaving, all + own,
       [=, &ranks] { ranks.reduce_scatter(stream, apart, data).wait(stream); }},
      {"reduce_scatter_in_place" + way, leaving, all + own,
       [=, &ranks] { ranks.reduce_scatter(stream, mine, data).wait(stream); }},
      {"all_gather_in_place" + way, leaving, all,
       [=, &ranks] { ranks.all_gather(stream, data, mine).wait(stream); }},
  };
}

void run_size(triax::ProcessGrid& grid, Communicator* node, const Tensor& data,
              const Tensor& other) {
  Communicator& world = grid.world();
  const auto leaving =
      triax::ring::all_gather(world.size(), static_cast<std::uint64_t>(data.bytes())).bytes;
  const auto sent_elements = static_cast<std::int64_t>(leaving / sizeof(float));
  std::vector<Case> cases = {{"exchange", leaving, 0, [&] {
                                exchange(world, data.slice(0, 0, sent_elements),
                                         other.slice(0, 0, sent_elements));
                              }}};
  const auto append = [&](std::vector<Case> more) {
    cases.insert(cases.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  };
  constexpr std::int64_t beyond_caches = 100'000'000;
  const bool by_memory = grid.nodes() == 1 && data.bytes() > beyond_caches;
  if (by_memory)
    cases.push_back(
        {"memory", 0, 2 * static_cast<std::uint64_t>(data.bytes()), [&] { scale(data); }});
  if (by_memory)
    cases.push_back({"triad", 0, 3 * static_cast<std::uint64_t>(data.bytes()) / 2,
                     [&] { triad(data, other); }});
  append(collectives(world, "", data, other));
  if (node != nullptr) append(collectives(*node, " node", data, other));
  const char* const waits = grid.wait_policy() == triax::WaitPolicy::spin ? "spin" : "yield";
  double limit = 0, memory_limit = 0, triad_limit = 0;
  for (const Case& c : cases) {
    triax::fill_zero(triax::Stream(), data);
    const Timing timing = measure(world, data.bytes(), c.body);
    const double rate = static_cast<double>(c.sent) / timing.seconds;
    const double memory_rate = static_cast<double>(c.memory) / timing.seconds;
    if (limit == 0) limit = rate;
    if (c.name == "memory") memory_limit = memory_rate;
    if (c.name == "triad") triad_limit = memory_rate;
    std::vector<std::pair<std::string_view, double>> figures = {
        {"bytes_per_second", c.sent > 0 ? rate : memory_rate}};
    if (c.sent > 0) figures.emplace_back("peak_fraction", rate / limit);
    if (c.sent > 0 && c.memory > 0 && by_memory) {
      figures.emplace_back("memory_fraction", memory_rate / memory_limit);
      figures.emplace_back("triad_fraction", memory_rate / triad_limit);
    }
    if (world.rank() == 0)
      triax::benchmark::print_result(
          "collectives",
          fmt::format("{} ranks={} bytes={} wait={}", c.name, world.size(), data.bytes(), waits),
          timing, figures);
  }
}

// All ranks as a group that uses shared memory within a node; empty if no ranks share memory.
struct Node {
  explicit Node(triax::ProcessGrid& grid) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    const triax::GroupRecord record{.progress = &progress};
    mpi.emplace(copy, grid.wait_policy(), "a benchmark", record);
    const int run = grid.run_within_node(triax::Axis::data);
    if (run == 1) return;
    std::unique_ptr<triax::Exchange> exchange;
    if (run == grid.size())
      exchange = std::make_unique<triax::NodeExchange>(copy, "a benchmark");
    else
      exchange = std::make_unique<triax::HierarchicalExchange>(copy, run, grid.wait_policy(),
                                                               "a benchmark");
    if (!exchange->usable()) return;
    ranks.emplace(*mpi, std::move(exchange), grid.wait_policy(), record);
    ranks->set_sizes({});
  }
  triax::MessageProgress progress;
  std::optional<triax::MpiCommunicator> mpi;
  std::optional<triax::NodeCommunicator> ranks;
};

// Throws a UsageError on all ranks if a node lacks memory for two tensors per rank and one shared
// copy. Smaller sizes have then been printed. Collective.
void require_room(std::int64_t bytes) {
  const std::string lacking = triax::benchmark::lacking_on_any_node(
      fmt::format("a case of {} bytes", bytes), 3.0 * static_cast<double>(bytes));
  if (!lacking.empty())
    throw triax::UsageError(lacking, "",
                            "Start fewer ranks per node, or set a smaller LARGEST_BYTES");
}

void run(const triax::MpiSession& session, std::int64_t largest, std::int64_t smallest) {
  triax::ProcessGrid grid(MPI_COMM_WORLD, {.data = session.size()});
  Node node(grid);
  bool measured = false;
  for (const std::int64_t bytes :
       {4'000LL, 16'000LL, 64'000LL, 250'000LL, 1'000'000LL, 25'000'000LL, 500'000'000LL}) {
    if (bytes > largest) break;
    if (bytes < smallest) continue;
    const std::int64_t elements =
        bytes / static_cast<std::int64_t>(sizeof(float)) / session.size() * session.size();
    require_room(bytes);
    const auto allocated = static_cast<std::size_t>(elements) * sizeof(float);
    const triax::Buffer data(allocated);
    const triax::Buffer other(allocated);
    run_size(grid, node.ranks ? &*node.ranks : nullptr, data.tensor(DType::f32, {elements}),
             other.tensor(DType::f32, {elements}));
    measured = true;
  }
  if (!measured)
    throw triax::UsageError(
        fmt::format("no size from {} to {} bytes is measured", smallest, largest), "",
        "See --help");
}

}  // namespace

int main(int argc, char** argv) {
  const triax::MpiSession session(&argc, &argv);
  std::int64_t largest = 500'000'000;
  std::int64_t smallest = 0;
  CLI::App app{
      "Collectives over all ranks of the job, by MPI and through memory that ranks of a node "
      "share, "
      "from 4 KB to 500 MB: one JSON line a case. Start it by mpiexec -n N or srun."};
  app.add_option("largest", largest, "Bytes of the largest case")
      ->check(CLI::Range(std::int64_t{4000}, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  app.add_option("smallest", smallest, "Bytes of the smallest case")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  if (const auto status = triax::benchmark::refused(app, argc, argv, session.rank() == 0))
    return *status;
  try {
    if (session.size() < 2)
      throw triax::UsageError("a single rank has no collectives", "", "Start 2 ranks or more");
    run(session, largest, smallest);
    return 0;
  } catch (const triax::UsageError& error) {  // thrown on all ranks
    if (session.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    session.abort(3);
  }
}
