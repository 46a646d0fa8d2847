// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shape of the 3D grid of ranks and the coordinates of each rank: arithmetic only, without MPI, so
// that a plan for 10,000 ranks needs no ranks.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triax {

enum class Axis : std::uint8_t { data, pipeline, tensor };

inline constexpr std::array<Axis, 3> all_axes = {Axis::data, Axis::pipeline, Axis::tensor};

/// "data", "pipeline", "tensor".
std::string_view name_of(Axis axis);

/// Parses a text like "data,pipeline,tensor": each axis once, slowest first. UsageError for any
/// other text.
std::array<Axis, 3> parse_axis_order(std::string_view text);

struct GridShape {
  int data = 1, pipeline = 1, tensor = 1;
  /// Slowest axis first. The default puts tensor groups on neighbouring ranks.
  std::array<Axis, 3> order = all_axes;
  /// Allow tensor groups to span nodes (slow).
  bool tensor_across_nodes = false;

  int size() const { return data * pipeline * tensor; }
  int size(Axis axis) const;
  /// Rank distance of neighbours along `axis`.
  int stride(Axis axis) const;
  /// Coordinate of `rank` along `axis`, as in MPI_Cart_coords (row-major, `order[0]` slowest).
  int coordinate(int rank, Axis axis) const { return rank / stride(axis) % size(axis); }
  /// "data 2 x pipeline 1 x tensor 4"
  std::string text() const;
};

/// UsageError, naming sizes that would fit, unless the grid has exactly `ranks` ranks.
void check_world_size(const GridShape& shape, int ranks);

/// UsageError with the remedies if a tensor group spans nodes, unless shape.tensor_across_nodes.
/// `node_of_rank`: a node number for each rank of the grid.
void check_tensor_inside_nodes(const GridShape& shape, const std::vector<int>& node_of_rank);

/// Largest number of consecutive ranks along `axis` that divides the axis evenly such that each
/// such range is on one node; at least 1. `node_of_rank` as above.
int run_within_node(const GridShape& shape, Axis axis, const std::vector<int>& node_of_rank);
/// The same for groups within an axis: `members` ranks each, `step` apart, where every `run`
/// consecutive ranks of the axis share a node. Valid for each of the groups.
int run_of_groups(int run, int step, int members);

}  // namespace triax
