#pragma once
// Which part of a dataset a rank reads or writes, as axis-aligned boxes. Pure arithmetic, no HDF5.
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax::hdf5 {

/// A box of a dataset: offset and extent, as many dimensions as the dataset.
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

/// The boxes moved by `offset`: from a slice's coordinates to those of the whole array.
std::vector<Box> shifted(std::vector<Box> boxes,
                         const std::array<std::int64_t, Shape::max_rank>& offset);

/// The parts of the boxes with indices [begin, end) in dimension `dim`.
std::vector<Box> clipped(const std::vector<Box>& boxes, int dim, std::int64_t begin,
                         std::int64_t end);

/// A union of boxes cut into runs of at most `max_elements` elements (>= 1), such that visiting the
/// runs one after another, each in row-major order, is visiting the whole union in row-major order.
std::vector<std::vector<Box>> split_boxes(const std::vector<Box>& boxes, std::int64_t max_elements);

/// Consecutive elements of an array, by flat row-major index.
struct Run {
  std::int64_t first, count;
};

/// The elements of a union of boxes (which do not overlap) within an array of shape `shape`, as
/// runs in row-major order. A scalar is one run.
std::vector<Run> runs_of(const Shape& shape, const std::vector<Box>& boxes);

}  // namespace triax::hdf5
