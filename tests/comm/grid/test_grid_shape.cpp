// SPDX-License-Identifier: Apache-2.0
#include "src/comm/grid/grid_shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string usage_error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(GridShape, ParsesEveryOrder) {
  EXPECT_EQ(parse_axis_order("data,pipeline,tensor"), all_axes);
  EXPECT_EQ(parse_axis_order("tensor,data,pipeline"),
            (std::array{Axis::tensor, Axis::data, Axis::pipeline}));
  EXPECT_EQ(parse_axis_order("pipeline,tensor,data"),
            (std::array{Axis::pipeline, Axis::tensor, Axis::data}));
}

TEST(GridShape, RefusesOtherOrders) {
  for (const char* text :
       {"", "data", "data,pipeline", "data,pipeline,pipeline", "data, pipeline, tensor",
        "data,pipeline,tensor,", "Data,pipeline,tensor", "dp,pp,tp"})
    EXPECT_THROW(parse_axis_order(text), UsageError) << text;
  EXPECT_THAT(usage_error_of([] { parse_axis_order("dp,pp,tp"); }),
              AllOf(HasSubstr("dp,pp,tp"), HasSubstr("data,pipeline,tensor")));
}

TEST(GridShape, NumbersRanksRowMajorInTheOrder) {
  GridShape shape{.data = 2, .pipeline = 3, .tensor = 4};
  EXPECT_EQ(shape.size(), 24);
  for (int rank = 0; rank < 24; ++rank) {
    EXPECT_EQ(shape.coordinate(rank, Axis::data), rank / 12);
    EXPECT_EQ(shape.coordinate(rank, Axis::pipeline), rank / 4 % 3);
    EXPECT_EQ(shape.coordinate(rank, Axis::tensor), rank % 4);
  }
  shape.order = {Axis::tensor, Axis::pipeline, Axis::data};
  EXPECT_EQ(shape.coordinate(23, Axis::data), 1);
  EXPECT_EQ(shape.coordinate(7, Axis::tensor), 1);
  EXPECT_EQ(shape.stride(Axis::tensor), 6);
}

TEST(GridShape, SaysWhatWouldFitTheWorld) {
  const GridShape shape{.data = 2, .pipeline = 2, .tensor = 2};
  EXPECT_NO_THROW(check_world_size(shape, 8));
  EXPECT_THAT(
      usage_error_of([&] { check_world_size(shape, 12); }),
      AllOf(HasSubstr("takes 8 ranks and 12 were started"), HasSubstr("parallel.data to 3")));
  EXPECT_THAT(usage_error_of([&] { check_world_size(shape, 6); }),
              AllOf(HasSubstr("and 6 were started"), HasSubstr("Start 8 ranks"),
                    HasSubstr("multiple of 4")));
  EXPECT_THROW(check_world_size({.data = 0}, 1), UsageError);
}

TEST(GridShape, KeepsTensorGroupsInsideNodes) {
  const GridShape shape{.data = 2, .tensor = 2};
  EXPECT_NO_THROW(check_tensor_inside_nodes(shape, {0, 0, 0, 0}));
  EXPECT_NO_THROW(check_tensor_inside_nodes(shape, {7, 7, 3, 3}));
  EXPECT_NO_THROW(check_tensor_inside_nodes({.data = 4}, {0, 1, 2, 3}));
  EXPECT_THROW(check_tensor_inside_nodes(shape, {0, 0, 0, 1}), UsageError);
}

TEST(GridShape, SaysHowToKeepTensorGroupsInsideNodes) {
  GridShape shape{.tensor = 4};
  EXPECT_THAT(usage_error_of([&] {
                check_tensor_inside_nodes(shape, {0, 0, 1, 1});
              }),
              AllOf(HasSubstr("tensor group of 4"), HasSubstr("2 nodes with 2 ranks each"),
                    HasSubstr("at most 2"), HasSubstr("parallel.tensor_across_nodes"),
                    Not(HasSubstr("parallel.order"))));
  shape.tensor_across_nodes = true;
  EXPECT_NO_THROW(check_tensor_inside_nodes(shape, {0, 0, 1, 1}));
}

TEST(GridShape, AdvisesAnotherOrderWhereTheOrderSplitsGroups) {
  const GridShape shape{
      .data = 2, .tensor = 2, .order = {Axis::tensor, Axis::pipeline, Axis::data}};
  EXPECT_THAT(usage_error_of([&] {
                check_tensor_inside_nodes(shape, {0, 0, 1, 1});
              }),
              HasSubstr("tensor last in parallel.order"));
}

TEST(GridShape, RunsWithinNodes) {
  const GridShape shape{.data = 6, .tensor = 2};
  const auto by_node = [](int ranks) {
    std::vector<int> nodes;
    for (int rank = 0; rank < 12; ++rank) nodes.push_back(rank / ranks);
    return nodes;
  };
  EXPECT_EQ(run_within_node(shape, Axis::data, by_node(12)), 6);
  EXPECT_EQ(run_within_node(shape, Axis::data, by_node(6)), 3);
  EXPECT_EQ(run_within_node(shape, Axis::data, by_node(4)), 2);
  EXPECT_EQ(run_within_node(shape, Axis::data, by_node(8)), 2) << "runs of 3 lie across nodes";
  EXPECT_EQ(run_within_node(shape, Axis::data, by_node(2)), 1);
  EXPECT_EQ(run_within_node(shape, Axis::tensor, by_node(2)), 2);
}

// Nodes of five and three ranks: one of the two data groups alone would allow ranges of two ranks.
TEST(GridShape, RunsWithinNodesAreThoseOfAllGroupsOfAnAxis) {
  const GridShape shape{.data = 4, .tensor = 2, .tensor_across_nodes = true};
  EXPECT_EQ(run_within_node(shape, Axis::data, {0, 0, 0, 0, 0, 1, 1, 1}), 1);
}

TEST(GridShape, RunsOfGroupsWithinAnAxis) {
  EXPECT_EQ(run_of_groups(4, 1, 2), 2) << "parts of two on nodes of four";
  EXPECT_EQ(run_of_groups(4, 2, 4), 2) << "and across them";
  EXPECT_EQ(run_of_groups(3, 1, 2), 1) << "parts of two, of which one lies on two nodes of three";
  EXPECT_EQ(run_of_groups(2, 2, 4), 1);
  EXPECT_EQ(run_of_groups(10, 4, 10), 1) << "0, 4, 8 are on one node; 8 and 12 are not";
  EXPECT_EQ(run_of_groups(1, 1, 4), 1);
}

}  // namespace
}  // namespace triax
