// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host/node_choice.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/base/device/device.hpp"

namespace triax {
namespace {

constexpr int repetitions = 3;
constexpr std::array<std::uint64_t, 6> tried_sizes = {16 << 10, 64 << 10, 256 << 10,
                                                      1 << 20,  4 << 20,  16 << 20};

// Elements per rank: shards are equal, so the total may exceed `bytes` a little.
std::int64_t part_of(std::uint64_t bytes, int ranks) {
  const auto n = static_cast<std::int64_t>(ranks);
  return (static_cast<std::int64_t>(bytes / sizeof(float)) + n - 1) / n;
}

std::vector<std::uint64_t> sizes_within(std::uint64_t least, std::uint64_t most, int ranks) {
  std::vector<std::uint64_t> sizes;
  for (const std::uint64_t size : tried_sizes)
    if (size >= least &&
        static_cast<std::uint64_t>(part_of(size, ranks) * ranks) * sizeof(float) <= most)
      sizes.push_back(size);
  return sizes;
}

// Best time per size in seconds, of the slowest rank.
std::vector<double> times_of(MpiCommunicator& mpi, const std::vector<std::uint64_t>& sizes,
                             std::byte* memory, const auto& call) {
  const Stream host;
  std::vector<double> times;
  for (const std::uint64_t bytes : sizes) {
    const std::int64_t part = part_of(bytes, mpi.size());
    const Tensor data(reinterpret_cast<float*>(memory), {part * mpi.size()});
    const Tensor own = data.slice(0, mpi.rank() * part, part);
    call(data, own);  // warm-up: allocates memory and connects ranks
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

// Smallest trial memory of any rank; 0 if ranks of any node share cores, since nodes may differ.
std::uint64_t agreed_memory(MpiCommunicator& mpi, WaitPolicy policy, std::size_t bytes) {
  const Stream host;
  std::int64_t minus = policy == WaitPolicy::yield ? 0 : -static_cast<std::int64_t>(bytes);
  mpi.all_reduce(host, Tensor(&minus, {1}), ReduceOp::max).wait(host);
  return static_cast<std::uint64_t>(-minus);
}

}  // namespace

NodeSizes::Range faster_range(std::span<const std::uint64_t> sizes, std::span<const double> mpi,
                              std::span<const double> node) {
  check(mpi.size() == sizes.size() && node.size() == sizes.size(), "{} and {} times of {} sizes",
        mpi.size(), node.size(), sizes.size());
  NodeSizes::Range best = NodeSizes::none;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::size_t end = i;
    while (end < sizes.size() && node[end] < mpi[end]) ++end;
    if (end == i || end - i < longest) continue;
    longest = end - i;
    best = {sizes[i], end < sizes.size() ? sizes[end] : NodeSizes::Range::unlimited};
    i = end;
  }
  return best;
}

void choose_sizes(MpiCommunicator& mpi, NodeCommunicator& node, WaitPolicy policy,
                  std::span<std::byte> memory) {
  const std::uint64_t most = agreed_memory(mpi, policy, memory.size());
  if (most == 0) return;
  std::ranges::fill(
      memory.first(std::min(memory.size(), tried_sizes.back() + node.size() * sizeof(float))),
      std::byte{});
  const Stream host;
  NodeSizes found = node.sizes();
  node.set_sizes({});
  const auto measure = [&](NodeSizes::Range& range, std::uint64_t least, const auto& call) {
    const std::vector<std::uint64_t> sizes = sizes_within(least, most, mpi.size());
    if (sizes.empty()) return;
    const auto by = [&](Communicator& way) {
      return times_of(mpi, sizes, memory.data(),
                      [&](const Tensor& whole, const Tensor& own) { call(way, whole, own); });
    };
    const std::vector<double> by_mpi = by(mpi);
    range = faster_range(sizes, by_mpi, by(node));
  };
  measure(found.gathers, 0, [&](Communicator& way, const Tensor& whole, const Tensor& own) {
    way.all_gather(host, whole, own).wait(host);
  });
  if (node.ranks_sharing() == node.size())
    measure(found.sums, direct::least_bytes(node.size()),
            [&](Communicator& way, const Tensor& whole, const Tensor&) {
              way.all_reduce(host, whole).wait(host);
            });
  node.set_sizes(found);
  mpi.release_held();  // trial sums may be larger than any of a step, which no plan counts
}

}  // namespace triax
