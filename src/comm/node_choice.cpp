#include "src/comm/node_choice.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "kernels/base/device.hpp"

namespace triax {
namespace {

constexpr int repetitions = 3;

// Across nodes small gathers may be faster and large ones slower: what counts is the largest.
std::vector<std::uint64_t> sizes_for(const NodeCommunicator& node) {
  std::vector<std::uint64_t> sizes = {16 << 10, 64 << 10, 256 << 10, node::most_bytes_by_mpi};
  if (node.ranks_sharing() < node.size()) sizes.push_back(std::uint64_t{16} << 20);
  return sizes;
}

// The best time of each size, of the slowest rank.
std::vector<double> times_of(MpiCommunicator& mpi, const std::vector<std::uint64_t>& sizes,
                             const Tensor& memory, const auto& call) {
  const Stream host;
  std::vector<double> times;
  for (const std::uint64_t bytes : sizes) {
    const auto ranks = static_cast<std::int64_t>(mpi.size());
    const auto part = static_cast<std::int64_t>(bytes / sizeof(float)) / ranks;
    const Tensor data = memory.slice(0, 0, part * ranks);
    const Tensor own = data.slice(0, mpi.rank() * part, part);
    call(data, own);  // memory and connections are there from here on
    double best = 1e9;
    for (int i = 0; i < repetitions; ++i) {
      mpi.barrier(host).wait(host);
      const double start = MPI_Wtime();
      call(data, own);
      best = std::min(best, MPI_Wtime() - start);
    }
    times.push_back(best);
  }
  const Tensor all(times.data(), {static_cast<std::int64_t>(times.size())});
  mpi.all_reduce(host, all, ReduceOp::max).wait(host);
  return times;
}

// Of all ranks, which may be on nodes that differ in cores: to measure is collective.
bool all_spin(MpiCommunicator& mpi, WaitPolicy policy) {
  const Stream host;
  std::int32_t yields = policy == WaitPolicy::yield ? 1 : 0;
  mpi.all_reduce(host, Tensor(&yields, {1}), ReduceOp::max).wait(host);
  return yields == 0;
}

}  // namespace

std::uint64_t faster_from(const std::vector<std::uint64_t>& sizes, const std::vector<double>& mpi,
                          const std::vector<double>& node) {
  check(mpi.size() == sizes.size() && node.size() == sizes.size(), "{} and {} times of {} sizes",
        mpi.size(), node.size(), sizes.size());
  std::uint64_t from = NodeThresholds::never;
  for (std::size_t i = sizes.size(); i-- > 0 && node[i] < mpi[i];) from = sizes[i];
  return from;
}

NodeThresholds measured_thresholds(MpiCommunicator& mpi, NodeCommunicator& node, WaitPolicy policy,
                                   const NodeThresholds& fixed) {
  if (!all_spin(mpi, policy)) return fixed;
  const Stream host;
  const std::vector<std::uint64_t> sizes = sizes_for(node);
  const Buffer memory(sizes.back());
  const Tensor data =
      memory.tensor(DType::f32, {static_cast<std::int64_t>(sizes.back() / sizeof(float))});
  node.set_thresholds({.sums = 0, .gathers = 0});
  const auto measured = [&](const auto& call) {
    const auto by = [&](Communicator& way) {
      return times_of(mpi, sizes, data,
                      [&](const Tensor& whole, const Tensor& own) { call(way, whole, own); });
    };
    const std::vector<double> by_mpi = by(mpi);
    return faster_from(sizes, by_mpi, by(node));
  };
  NodeThresholds found = fixed;
  found.gathers = measured([&](Communicator& way, const Tensor& whole, const Tensor& own) {
    way.all_gather(host, whole, own).wait(host);
  });
  if (mpi.size() == 2)  // what goes by messages takes memory, as planned
    found.sums = std::min(node::most_bytes_by_mpi,
                          measured([&](Communicator& way, const Tensor& whole, const Tensor&) {
                            way.all_reduce(host, whole).wait(host);
                          }));
  node.set_thresholds(found);
  mpi.release_held();  // that of sums which no step may have: no plan counts it
  return found;
}

}  // namespace triax
