#pragma once
// The shape of the 3D grid of ranks and which rank stands where: arithmetic only, without MPI, so
// that a plan for 10,000 ranks needs none of them.
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

/// The axes of a text like "data,pipeline,tensor", slowest first, each exactly once; a UsageError
/// for anything else.
std::array<Axis, 3> parse_axis_order(std::string_view text);

struct GridShape {
  int data = 1, pipeline = 1, tensor = 1;
  /// Slowest axis first. The default keeps tensor groups on neighbouring ranks.
  std::array<Axis, 3> order = all_axes;
  /// Allow tensor groups to span nodes (slow).
  bool tensor_across_nodes = false;

  int size() const { return data * pipeline * tensor; }
  int size(Axis axis) const;
  /// Ranks between neighbours along `axis`.
  int stride(Axis axis) const;
  /// Position of `rank` along `axis`, as MPI_Cart_coords has it (row-major, `order[0]` slowest).
  int coordinate(int rank, Axis axis) const { return rank / stride(axis) % size(axis); }
  /// "data 2 x pipeline 1 x tensor 4"
  std::string text() const;
};

/// A UsageError unless the grid takes all of `ranks`; it says what would fit.
void check_world_size(const GridShape& shape, int ranks);

/// A UsageError with the remedies where a tensor group has ranks on several nodes, unless
/// shape.tensor_across_nodes. `node_of_rank`: a number for the node of each rank of the grid.
void check_tensor_inside_nodes(const GridShape& shape, const std::vector<int>& node_of_rank);

/// The largest number of neighbours along `axis` into which the axis can be cut evenly so that all
/// of each group share a node; at least 1. `node_of_rank` as above.
int run_within_node(const GridShape& shape, Axis axis, const std::vector<int>& node_of_rank);
/// The same of groups within that axis, of `members` ranks each that are `step` apart along it,
/// where runs of `run` neighbours of the axis share a node: it holds for each of the groups.
int run_of_groups(int run, int step, int members);

}  // namespace triax
