// SPDX-License-Identifier: Apache-2.0
#pragma once
// Regions of a dataset that a rank reads or writes, as axis-aligned boxes. Pure arithmetic, no
// HDF5.
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax::hdf5 {

/// A box of a dataset: offset and extent, one index per dimension of the dataset.
struct Box {
  std::array<std::int64_t, Shape::max_rank> offset{};
  Shape extent;
};

/// Elements in all boxes together (boxes do not overlap).
std::int64_t elements(const std::vector<Box>& boxes);

/// The flat row-major range [begin, end) of an array of shape `extent`, as at most 2 rank - 1
/// disjoint boxes in row-major order: a partial row at the head, whole rows, a partial row at the
/// tail, and so on inwards. This is a rank's ZeRO shard of a tensor.
std::vector<Box> flat_range_boxes(const Shape& extent, std::int64_t begin, std::int64_t end);

/// The boxes moved by `offset`, from the coordinates of a slice to those of the whole array.
std::vector<Box> shifted(std::vector<Box> boxes,
                         const std::array<std::int64_t, Shape::max_rank>& offset);

/// The boxes clipped to indices [begin, end) of dimension `dim`.
std::vector<Box> clipped(const std::vector<Box>& boxes, int dim, std::int64_t begin,
                         std::int64_t end);

/// Splits a union of boxes into groups of at most `max_elements` elements (>= 1). Visiting the
/// groups one after another, each in row-major order, visits the whole union in row-major order.
std::vector<std::vector<Box>> split_boxes(const std::vector<Box>& boxes, std::int64_t max_elements);

/// A range of consecutive elements of an array, by flat row-major index.
struct Run {
  std::int64_t first, count;
};

/// The elements of non-overlapping boxes of an array of shape `shape`, as ranges in row-major
/// order. A scalar is one range.
std::vector<Run> runs_of(const Shape& shape, const std::vector<Box>& boxes);

}  // namespace triax::hdf5
