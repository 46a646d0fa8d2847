#include "io/boxes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace triax::hdf5 {
namespace {

// Appends [begin, end) of the sub-array whose first `dim` indices are those of `at`.
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

// The parts of the boxes with indices [begin, end) in dimension `dim`.
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

// All boxes share one index in each dimension before `dim`, so that a cut of `dim` is a cut of the
// order.
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

}  // namespace

std::int64_t elements(const std::vector<Box>& boxes) {
  std::int64_t n = 0;
  for (const Box& box : boxes) n += box.extent.elements();
  return n;
}

std::vector<Box> flat_range_boxes(const Shape& extent, std::int64_t begin, std::int64_t end) {
  check(0 <= begin && begin <= end && end <= extent.elements(), "flat range [{}, {}) of {}", begin,
        end, extent.text());
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

std::vector<std::vector<Box>> split_boxes(const std::vector<Box>& boxes,
                                          std::int64_t max_elements) {
  check(max_elements >= 1, "pieces of {} elements", max_elements);
  std::vector<std::vector<Box>> out;
  append_split(boxes, 0, max_elements, out);
  return out;
}

}  // namespace triax::hdf5
