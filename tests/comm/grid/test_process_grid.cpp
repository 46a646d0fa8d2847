// SPDX-License-Identifier: Apache-2.0
#include "src/comm/grid/process_grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/base/check.hpp"
#include "tests/comm/grid_world.hpp"

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The ranks of `shape` that differ from `rank` along `axis` only.
std::vector<int> expected_members(const GridShape& shape, int rank, Axis axis) {
  std::vector<int> group;
  for (int r = 0; r < shape.size(); ++r)
    if (std::all_of(all_axes.begin(), all_axes.end(), [&](Axis other) {
          return other == axis || shape.coordinate(r, other) == shape.coordinate(rank, other);
        }))
      group.push_back(r);
  return group;
}

void expect_axes(const GridShape& shape) {
  ProcessGrid grid(MPI_COMM_WORLD, shape, one_node());
  const int rank = grid.rank();
  ASSERT_EQ(rank, world_rank());
  EXPECT_EQ(grid.size(), shape.size());
  EXPECT_EQ(grid.data_rank(), shape.coordinate(rank, Axis::data));
  EXPECT_EQ(grid.pipeline_rank(), shape.coordinate(rank, Axis::pipeline));
  EXPECT_EQ(grid.tensor_rank(), shape.coordinate(rank, Axis::tensor));
  for (const Axis axis : all_axes) {
    EXPECT_EQ(members(grid.along(axis), rank), expected_members(shape, rank, axis))
        << shape.text() << ", " << name_of(axis);
    EXPECT_EQ(grid.along(axis).rank(), shape.coordinate(rank, axis));
  }
  std::vector<int> everyone(static_cast<std::size_t>(shape.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  EXPECT_EQ(members(grid.world(), rank), everyone);
}

TEST(ProcessGrid, StandsRightInEveryOrder) {
  const int size = world_size();
  GridShape shape;
  if (size == 8)
    shape = {.data = 2, .pipeline = 2, .tensor = 2};
  else
    shape = {.pipeline = size % 2 == 0 ? size / 2 : size, .tensor = size % 2 == 0 ? 2 : 1};
  do {
    expect_axes(shape);
  } while (std::next_permutation(shape.order.begin(), shape.order.end()));
}

TEST(ProcessGrid, HasAnyShapeThatFits) {
  const int size = world_size();
  expect_axes({.data = size});
  expect_axes({.tensor = size});
  if (size % 4 == 0) expect_axes({.data = size / 4, .pipeline = 2, .tensor = 2});
}

// Coordinates of MPI's Cartesian topology equal those GridShape computes without MPI.
TEST(ProcessGrid, AgreesWithMpiOnCoordinates) {
  GridShape shape{.data = world_size()};
  if (world_size() % 2 == 0) shape = {.data = world_size() / 2, .tensor = 2};
  shape.order = {Axis::tensor, Axis::data, Axis::pipeline};
  const ProcessGrid grid(MPI_COMM_WORLD, shape, one_node());
  std::array<int, 3> coordinates{};
  ASSERT_EQ(MPI_Cart_coords(grid.mpi(), grid.rank(), 3, coordinates.data()), MPI_SUCCESS);
  EXPECT_EQ(coordinates, (std::array{grid.tensor_rank(), grid.data_rank(), grid.pipeline_rank()}));
}

TEST(ProcessGrid, KnowsItsNodeAndPlace) {
  const ProcessGrid grid(MPI_COMM_WORLD, {.data = world_size()});
  EXPECT_EQ(grid.nodes(), 1);
  EXPECT_EQ(grid.node_size(), world_size());
  EXPECT_EQ(grid.node_rank(), world_rank());
  EXPECT_GE(grid.node_cores(), 1);
  EXPECT_EQ(grid.wait_policy(), wait_policy(world_size(), grid.node_cores()));
  const std::string rank = std::to_string(world_rank());
  EXPECT_THAT(grid.place(),
              HasSubstr("rank " + rank + " (data " + rank + ", pipeline 0, tensor 0) on "));
}

TEST(ProcessGrid, TakesNodesFromAMap) {
  const int size = world_size();
  if (size % 2 != 0) GTEST_SKIP() << "needs two equal nodes";
  std::vector<int> map(static_cast<std::size_t>(size), 9);
  std::fill(map.begin(), map.begin() + size / 2, 4);
  const ProcessGrid grid(MPI_COMM_WORLD, {.data = 2, .tensor = size / 2}, map);
  EXPECT_EQ(grid.nodes(), 2);
  EXPECT_EQ(grid.node_size(), size / 2);
  EXPECT_EQ(grid.node_rank(), world_rank() % (size / 2));

  const GridShape spans{.tensor = size};
  try {
    const ProcessGrid refused(MPI_COMM_WORLD, spans, map);
    ADD_FAILURE() << "a tensor group spans nodes";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("2 nodes with " + std::to_string(size / 2) + " ranks"),
                      HasSubstr("parallel.tensor_across_nodes")));
  }
  GridShape allowed = spans;
  allowed.tensor_across_nodes = true;
  EXPECT_EQ(ProcessGrid(MPI_COMM_WORLD, allowed, map).nodes(), 2);
}

TEST(ProcessGrid, RefusesAWorldOfAnotherSize) {
  EXPECT_THROW(ProcessGrid(MPI_COMM_WORLD, {.data = world_size() + 1}), UsageError);
  EXPECT_THROW(ProcessGrid(MPI_COMM_WORLD, {.data = 1, .pipeline = world_size() + 2}), UsageError);
}

}  // namespace
}  // namespace triax
