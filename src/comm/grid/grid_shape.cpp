// SPDX-License-Identifier: Apache-2.0
#include "src/comm/grid/grid_shape.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>

#include "kernels/base/check.hpp"

namespace triax {

std::string_view name_of(Axis axis) {
  switch (axis) {
    case Axis::data:
      return "data";
    case Axis::pipeline:
      return "pipeline";
    case Axis::tensor:
      return "tensor";
  }
  return "?";
}

std::array<Axis, 3> parse_axis_order(std::string_view text) {
  std::array<Axis, 3> order = all_axes;
  do {
    if (text == fmt::format("{},{},{}", name_of(order[0]), name_of(order[1]), name_of(order[2])))
      return order;
  } while (std::next_permutation(order.begin(), order.end()));
  throw UsageError(
      fmt::format("parallel.order \"{}\" is not an order of the axes", text),
      "it names data, pipeline and tensor once each, slowest first, with commas between",
      "Use \"data,pipeline,tensor\" unless the network asks for another");
}

int GridShape::size(Axis axis) const {
  switch (axis) {
    case Axis::data:
      return data;
    case Axis::pipeline:
      return pipeline;
    case Axis::tensor:
      return tensor;
  }
  return 1;
}

int GridShape::stride(Axis axis) const {
  int stride = 1;
  for (std::size_t i = order.size(); i-- > 0 && order[i] != axis;) stride *= size(order[i]);
  return stride;
}

std::string GridShape::text() const {
  return fmt::format("data {} x pipeline {} x tensor {}", data, pipeline, tensor);
}

void check_world_size(const GridShape& shape, int ranks) {
  if (shape.data < 1 || shape.pipeline < 1 || shape.tensor < 1)
    throw UsageError(fmt::format("the grid {} has an axis below 1", shape.text()), "",
                     "Give every axis of `parallel` at least one rank");
  if (shape.size() == ranks) return;
  const int replica = shape.pipeline * shape.tensor;
  const std::string start = fmt::format("Start {} ranks", shape.size());
  const std::string remedy =
      ranks % replica == 0
          ? fmt::format("{}, or set parallel.data to {} or \"auto\"", start, ranks / replica)
          : fmt::format(
                "{}, or a multiple of {} (pipeline {} x tensor {}) with parallel.data \"auto\"",
                start, replica, shape.pipeline, shape.tensor);
  throw UsageError(fmt::format("the grid {} does not fit the job", shape.text()),
                   fmt::format("it takes {} ranks and {} were started", shape.size(), ranks),
                   remedy);
}

void check_tensor_inside_nodes(const GridShape& shape, const std::vector<int>& node_of_rank) {
  if (shape.tensor_across_nodes || shape.tensor == 1) return;
  check(static_cast<int>(node_of_rank.size()) == shape.size(), "a map of {} ranks for a grid of {}",
        node_of_rank.size(), shape.size());
  const auto node = [&](int rank) { return node_of_rank[static_cast<std::size_t>(rank)]; };
  const int stride = shape.stride(Axis::tensor);
  int split = -1;  // a rank whose predecessor in its tensor group is on another node
  for (int rank = 0; rank < shape.size() && split < 0; ++rank)
    if (shape.coordinate(rank, Axis::tensor) > 0 && node(rank) != node(rank - stride)) split = rank;
  if (split < 0) return;

  std::map<int, int> ranks_of_node;
  for (const int n : node_of_rank) ++ranks_of_node[n];
  int fewest = shape.size();
  int most = 0;
  for (const auto& [n, ranks] : ranks_of_node) {
    fewest = std::min(fewest, ranks);
    most = std::max(most, ranks);
  }
  const std::string per_node =
      fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most);
  std::string remedy = fmt::format(
      "Use a parallel.tensor of at most {} that divides the ranks of each node", fewest);
  if (stride != 1) remedy += ", put tensor last in parallel.order";
  remedy += ", or allow it with parallel.tensor_across_nodes = true (slow)";
  throw UsageError(fmt::format("a tensor group of {} ranks spans nodes", shape.tensor),
                   fmt::format("ranks {} and {} of one group are on different nodes; there are {} "
                               "nodes with {} ranks each",
                               split - stride, split, ranks_of_node.size(), per_node),
                   remedy);
}

int run_within_node(const GridShape& shape, Axis axis, const std::vector<int>& node_of_rank) {
  check(std::ssize(node_of_rank) == shape.size(), "a map of {} ranks for a grid of {}",
        node_of_rank.size(), shape.size());
  const int ranks = shape.size(axis);
  const auto node = [&](int rank) { return node_of_rank[static_cast<std::size_t>(rank)]; };
  const auto within = [&](int run) {
    for (int r = 0; r < shape.size(); ++r)
      if (node(r) != node(r - shape.coordinate(r, axis) % run * shape.stride(axis))) return false;
    return true;
  };
  for (int run = ranks; run > 1; --run)
    if (ranks % run == 0 && within(run)) return run;
  return 1;
}

int run_of_groups(int run, int step, int members) {
  return run % step == 0 ? std::gcd(members, run / step) : 1;
}

}  // namespace triax
