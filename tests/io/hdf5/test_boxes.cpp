// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/boxes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/io/fixtures.hpp"

namespace triax::hdf5 {
namespace {

// Flat row-major indices of the boxes' elements, each box in row-major order.
std::vector<std::int64_t> indices(const Shape& shape, const std::vector<Box>& boxes) {
  std::vector<std::int64_t> out;
  for (const Box& box : boxes) {
    for (std::int64_t i = 0; i < box.extent.elements(); ++i) {
      std::int64_t rest = i;
      std::int64_t flat = 0;
      std::int64_t stride = 1;
      for (int d = shape.rank() - 1; d >= 0; --d) {
        flat += (box.offset[static_cast<std::size_t>(d)] + rest % box.extent[d]) * stride;
        rest /= box.extent[d];
        stride *= shape[d];
      }
      out.push_back(flat);
    }
  }
  return out;
}

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(end - begin));
  std::iota(out.begin(), out.end(), begin);
  return out;
}

class FlatRange : public testing::TestWithParam<Shape> {};

TEST_P(FlatRange, EveryRangeIsItsElementsInOrder) {
  const Shape shape = GetParam();
  const std::int64_t n = shape.elements();
  for (std::int64_t begin = 0; begin <= n; ++begin) {
    for (std::int64_t end = begin; end <= n; ++end) {
      const auto boxes = flat_range_boxes(shape, begin, end);
      ASSERT_EQ(indices(shape, boxes), range(begin, end))
          << shape.text() << " " << begin << " " << end;
      ASSERT_EQ(elements(boxes), end - begin);
      ASSERT_LE(boxes.size(), static_cast<std::size_t>(std::max(1, 2 * shape.rank() - 1)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FlatRange,
                         testing::Values(Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{1, 1},
                                         Shape{1, 6}, Shape{6, 1}, Shape{3, 5}, Shape{5, 3},
                                         Shape{0, 4}, Shape{4, 0}, Shape{2, 3, 4}, Shape{3, 1, 2},
                                         Shape{2, 3, 2, 3}));

TEST(FlatRangeBoxes, RefusesARangeOutsideTheArray) {
  EXPECT_THROW(flat_range_boxes({2, 3}, 0, 7), Error);
  EXPECT_THROW(flat_range_boxes({2, 3}, 3, 2), Error);
  EXPECT_THROW(flat_range_boxes({2, 3}, -1, 2), Error);
}

TEST(Shifted, MovesASliceToItsPlace) {
  const auto boxes = shifted(flat_range_boxes({2, 3}, 1, 5), {10, 20});
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].offset[0], 10);
  EXPECT_EQ(boxes[0].offset[1], 21);
  EXPECT_EQ(boxes[1].offset[0], 11);
  EXPECT_EQ(boxes[1].offset[1], 20);
}

// Column slabs: row-major order interleaves the boxes, and so must the groups.
TEST(SplitBoxes, KeepsTheOrderOfTheUnion) {
  const Shape shape{5, 6};
  const std::vector<Box> boxes = {{{0, 0}, {5, 2}}, {{1, 4}, {4, 2}}};
  std::vector<std::int64_t> whole = indices(shape, boxes);
  std::ranges::sort(whole);
  for (std::int64_t limit = 1; limit <= 20; ++limit) {
    std::vector<std::int64_t> visited;
    for (const auto& run : split_boxes(boxes, limit)) {
      EXPECT_LE(elements(run), limit);
      std::vector<std::int64_t> part = indices(shape, run);
      std::ranges::sort(part);
      visited.insert(visited.end(), part.begin(), part.end());
    }
    EXPECT_EQ(visited, whole) << limit;
  }
}

TEST(SplitBoxes, LeavesASmallUnionWhole) {
  EXPECT_EQ(split_boxes({{{0, 0}, {2, 2}}}, 4).size(), 1u);
  EXPECT_TRUE(split_boxes({}, 4).empty());
}

// Compares with the boxes' elements one by one.
void expect_runs(const Shape& shape, const std::vector<Box>& boxes, std::size_t count) {
  const std::vector<Run> runs = runs_of(shape, boxes);
  std::vector<std::int64_t> of_runs;
  for (const Run& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i) of_runs.push_back(run.first + i);
  std::vector<std::int64_t> expected = indices(shape, boxes);
  std::ranges::sort(expected);
  EXPECT_EQ(of_runs, expected) << shape.text();
  EXPECT_EQ(runs.size(), count) << shape.text();
}

TEST(RunsOf, AreTheElementsInOrderAndAsLongAsCanBe) {
  expect_runs({}, {{{}, {}}}, 1);
  expect_runs({5}, {{{1}, {3}}}, 1);
  expect_runs({4, 3, 2}, {{{}, {4, 3, 2}}}, 1);
  expect_runs({4, 3, 2}, {{{1}, {2, 3, 2}}}, 1);
  expect_runs({4, 3, 2}, {{{1, 1}, {2, 2, 2}}}, 2);
  expect_runs({4, 3, 2}, {{{1, 0, 1}, {2, 3, 1}}}, 6);
  expect_runs({4, 3, 2}, {{{1}, {0, 3, 2}}}, 0);
  expect_runs({4, 6}, {{{0, 4}, {4, 2}}, {{0, 0}, {4, 2}}}, 8);  // columns, rows interleaved
}

}  // namespace
}  // namespace triax::hdf5
