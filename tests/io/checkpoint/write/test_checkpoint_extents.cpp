// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/write/checkpoint_extents.hpp"

#include <numeric>

#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::HasSubstr;

// A segment: file, offset in it, bytes, and index of its first element in memory.
struct Found {
  std::size_t file;
  std::int64_t offset, bytes, element;
  bool operator==(const Found&) const = default;
};

std::vector<Found> found(const std::vector<DataSegment>& segments, const std::vector<float>& data) {
  std::vector<Found> out;
  for (const DataSegment& segment : segments)
    out.push_back({segment.file, segment.offset, segment.bytes,
                   reinterpret_cast<const float*>(segment.memory) - data.data()});
  return out;
}

std::vector<float> indices(std::int64_t count) {
  std::vector<float> data(static_cast<std::size_t>(count));
  std::iota(data.begin(), data.end(), 0.0f);
  return data;
}

TEST(CheckpointExtents, ARowRangeIsOneSegment) {
  CheckpointExtents extents({"a.h5"});
  extents.add("/model/w", DType::f32, {4, 6}, {{0, 0, 24, 1000}});
  auto data = indices(12);
  EXPECT_EQ(
      found(extents.segments("/model/w", {{{1, 0}, {2, 6}}}, Tensor(data.data(), {12})), data),
      (std::vector<Found>{{0, 1000 + 24, 48, 0}}));
}

TEST(CheckpointExtents, AColumnRangeIsASegmentARow) {
  CheckpointExtents extents({"a.h5"});
  extents.add("/model/w", DType::f32, {3, 6}, {{0, 0, 18, 64}});
  auto data = indices(6);
  EXPECT_EQ(found(extents.segments("/model/w", {{{0, 4}, {3, 2}}}, Tensor(data.data(), {6})), data),
            (std::vector<Found>{{0, 64 + 16, 8, 0}, {0, 64 + 40, 8, 2}, {0, 64 + 64, 8, 4}}));
}

TEST(CheckpointExtents, TheFirstElementOfBoxesHasAnOffset) {
  CheckpointExtents extents({"a.h5", "b.h5"});
  extents.add("/model/w", DType::f32, {4, 5}, {{0, 0, 10, 100}, {1, 10, 20, 200}});
  EXPECT_EQ(extents.offset("/model/w", {{{0, 3}, {2, 2}}}), 112);
  EXPECT_EQ(extents.offset("/model/w", {{{2, 1}, {1, 4}}}), 204);
  EXPECT_EQ(extents.offset("/model/w", {{{2, 1}, {0, 4}}}), 0);
}

TEST(CheckpointExtents, ATensorInThreeFilesIsCutAtTheirEnds) {
  CheckpointExtents extents({"a.h5", "b.h5", "c.h5"});
  extents.add("/model/w", DType::f32, {4, 5}, {{0, 0, 5, 100}, {1, 5, 15, 200}, {2, 15, 20, 300}});
  auto data = indices(16);
  EXPECT_EQ(found(extents.segments("/model/w", hdf5::flat_range_boxes({4, 5}, 2, 18),
                                   Tensor(data.data(), {16})),
                  data),
            (std::vector<Found>{{0, 108, 12, 0},
                                {1, 200, 40, 3},  // adjoining rows are one range
                                {2, 300, 12, 13}}));
}

TEST(CheckpointExtents, NothingIsNoSegment) {
  CheckpointExtents extents({"a.h5"});
  extents.add("/model/none", DType::f32, {0, 5}, {{0, 0, 0, 0}});
  EXPECT_TRUE(
      extents.segments("/model/none", {{{0, 0}, {0, 5}}}, Tensor(nullptr, DType::f32, {0, 5}))
          .empty());
}

TEST(CheckpointExtents, WhatDoesNotBelongThereIsAnError) {
  CheckpointExtents extents({"a.h5"});
  extents.add("/model/w", DType::f32, {3, 6}, {{0, 0, 18, 64}});
  std::vector<float> data(18);
  const auto error = [&](const std::string& name, const hdf5::Box& box, const Tensor& tensor) {
    return error_of([&] { extents.segments(name, {box}, tensor); });
  };
  EXPECT_THAT(error("/model/v", {{0, 0}, {3, 6}}, Tensor(data.data(), {18})),
              HasSubstr("/model/v"));
  EXPECT_THAT(error("/model/w", {{0, 0}, {3, 6}}, Tensor(data.data(), {17})), HasSubstr("17 elem"));
  EXPECT_THAT(error("/model/w", {{0, 1}, {3, 6}}, Tensor(data.data(), {18})), HasSubstr("[1, 7)"));
  EXPECT_THAT(error("/model/w", {{0, 0}, {3, 6}}, Tensor(data.data(), DType::f64, {9})),
              HasSubstr("f32"));
  EXPECT_THAT(error_of([&] {
                extents.add("/model/x", DType::f32, {4}, {{0, 0, 3, 0}});
              }),
              HasSubstr("3 of its 4"));
}

}  // namespace
}  // namespace triax
