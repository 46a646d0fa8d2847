// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/boxes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace triax::hdf5 {
namespace {

// Appends the flat range [begin, end) of the sub-array whose first `dim` indices are those of `at`.
void append_range(const Shape& shape, int dim, const Box& at, std::int64_t begin, std::int64_t end,
                  std::vector<Box>& out) {
  if (begin >= end) return;
  if (dim == shape.rank()) {
    out.push_back(at);
    return;
  }
  std::int64_t row = 1;  // elements of one index of this dimension
  for (int d = dim + 1; d < shape.rank(); ++d) row *= shape[d];
  const auto d = static_cast<std::size_t>(dim);
  const auto inside = [&](std::int64_t index, std::int64_t from, std::int64_t to) {
    Box one = at;
    one.offset[d] = index;
    one.extent[dim] = 1;
    append_range(shape, dim + 1, one, from, to, out);
  };
  std::int64_t first = begin / row;
  const std::int64_t last = end / row;
  if (first == last) return inside(first, begin % row, end % row);
  if (begin % row != 0) inside(first++, begin % row, row);
  if (first < last) {
    Box rows = at;
    rows.offset[d] = first;
    rows.extent[dim] = last - first;
    out.push_back(rows);
  }
  if (end % row != 0) inside(last, 0, end % row);
}

// All boxes share one index in each dimension before `dim`, so that splitting along `dim` splits
// the row-major order.
void append_split(const std::vector<Box>& boxes, int dim, std::int64_t max_elements,
                  std::vector<std::vector<Box>>& out) {
  if (elements(boxes) <= max_elements) {
    if (!boxes.empty()) out.push_back(boxes);
    return;
  }
  std::int64_t lo = std::numeric_limits<std::int64_t>::max();
  std::int64_t hi = 0;
  for (const Box& box : boxes) {
    const std::int64_t offset = box.offset[static_cast<std::size_t>(dim)];
    lo = std::min(lo, offset);
    hi = std::max(hi, offset + box.extent[dim]);
  }
  if (hi - lo == 1) return append_split(boxes, dim + 1, max_elements, out);
  const std::int64_t middle = lo + (hi - lo) / 2;
  append_split(clipped(boxes, dim, lo, middle), dim, max_elements, out);
  append_split(clipped(boxes, dim, middle, hi), dim, max_elements, out);
}

// Appends the ranges of one box, in row-major order.
void append_runs(const Shape& shape, const Box& box, std::vector<Run>& out) {
  if (box.extent.elements() == 0) return;
  // The box covers dimensions from `inner` on entirely: together they are one range.
  int inner = shape.rank();
  std::int64_t row = 1;
  while (inner > 0 && box.extent[inner - 1] == shape[inner - 1]) row *= shape[--inner];
  if (inner > 0) --inner;  // a slice of this dimension is still one range
  const std::int64_t whole =
      inner < shape.rank() && box.extent[inner] != shape[inner] ? row * box.extent[inner] : row;
  const std::int64_t runs = box.extent.elements() / whole;
  for (std::int64_t i = 0; i < runs; ++i) {
    std::int64_t first = 0;
    std::int64_t stride = 1;
    std::int64_t rest = i;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      std::int64_t at = box.offset[static_cast<std::size_t>(d)];
      if (d < inner) {
        at += rest % box.extent[d];
        rest /= box.extent[d];
      }
      first += at * stride;
      stride *= shape[d];
    }
    out.push_back({first, whole});
  }
}

}  // namespace

std::int64_t elements(const std::vector<Box>& boxes) {
  std::int64_t n = 0;
  for (const Box& box : boxes) n += box.extent.elements();
  return n;
}

std::vector<Box> flat_range_boxes(const Shape& extent, std::int64_t begin, std::int64_t end) {
  check(0 <= begin && begin <= end && end <= extent.elements(), "flat range [{}, {}) of {}", begin,
        end, extent);
  std::vector<Box> out;
  append_range(extent, 0, Box{{}, extent}, begin, end, out);
  return out;
}

std::vector<Box> shifted(std::vector<Box> boxes,
                         const std::array<std::int64_t, Shape::max_rank>& offset) {
  for (Box& box : boxes)
    for (std::size_t d = 0; d < offset.size(); ++d) box.offset[d] += offset[d];
  return boxes;
}

std::vector<Box> clipped(const std::vector<Box>& boxes, int dim, std::int64_t begin,
                         std::int64_t end) {
  std::vector<Box> out;
  for (Box box : boxes) {
    auto& offset = box.offset[static_cast<std::size_t>(dim)];
    const std::int64_t lo = std::max(offset, begin);
    const std::int64_t hi = std::min(offset + box.extent[dim], end);
    if (lo >= hi) continue;
    offset = lo;
    box.extent[dim] = hi - lo;
    out.push_back(box);
  }
  return out;
}

std::vector<std::vector<Box>> split_boxes(const std::vector<Box>& boxes,
                                          std::int64_t max_elements) {
  check(max_elements >= 1, "pieces of {} elements", max_elements);
  std::vector<std::vector<Box>> out;
  append_split(boxes, 0, max_elements, out);
  return out;
}

std::vector<Run> runs_of(const Shape& shape, const std::vector<Box>& boxes) {
  std::vector<Run> runs;
  for (const Box& box : boxes) {
    check(box.extent.rank() == shape.rank(), "a box of {} dimensions in {}", box.extent.rank(),
          shape);
    for (int d = 0; d < shape.rank(); ++d) {
      const std::int64_t begin = box.offset[static_cast<std::size_t>(d)];
      check(begin >= 0 && begin + box.extent[d] <= shape[d], "a box [{}, {}) in dimension {} of {}",
            begin, begin + box.extent[d], d, shape);
    }
    append_runs(shape, box, runs);
  }
  const auto before = [](const Run& a, const Run& b) { return a.first < b.first; };
  if (!std::ranges::is_sorted(runs, before)) std::ranges::sort(runs, before);
  return runs;
}

}  // namespace triax::hdf5
