#include "src/comm/node_choice.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "kernels/base/device.hpp"

namespace triax {
namespace {

constexpr int repetitions = 3;

// Small ones may be faster and large ones slower, between nodes as between caches: what counts is
// the largest. Smaller sums than the least are MPI's, which may add in another order.
std::vector<std::uint64_t> sizes_for(int ranks) {
  std::vector<std::uint64_t> sizes = {16 << 10, 64 << 10, 256 << 10, 2 << 20, 16 << 20};
  std::erase_if(sizes, [&](std::uint64_t bytes) { return bytes < direct::least_bytes(ranks); });
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
  const std::vector<std::uint64_t> sizes = sizes_for(node.size());
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
  if (node.ranks_sharing() == node.size())
    found.sums = measured([&](Communicator& way, const Tensor& whole, const Tensor&) {
      way.all_reduce(host, whole).wait(host);
    });
  node.set_thresholds(found);
  mpi.release_held();  // that of sums which no step may have: no plan counts it
  return found;
}

}  // namespace triax
