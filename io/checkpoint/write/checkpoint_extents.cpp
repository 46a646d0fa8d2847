// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/write/checkpoint_extents.hpp"

#include <algorithm>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {

void CheckpointExtents::add(const std::string& name, DType dtype, const Shape& shape,
                            std::vector<DataExtent> extents) {
  std::int64_t end = 0;
  for (const DataExtent& extent : extents) {
    check(extent.first == end && extent.file < paths_.size(), "{} has no extent for element {}",
          name, end);
    end = extent.end;
  }
  check(end == shape.elements(), "{} has extents for {} of its {} elements", name, end,
        shape.elements());
  tensors_.insert_or_assign(name, TensorExtents{dtype, shape, std::move(extents)});
}

std::vector<DataSegment> CheckpointExtents::segments(const std::string& name,
                                                     const std::vector<hdf5::Box>& boxes,
                                                     const Tensor& data) const {
  const auto found = tensors_.find(name);
  check(found != tensors_.end(), "the checkpoint was made without {}", name);
  const auto& [dtype, shape, extents] = found->second;
  check(data.contiguous() && data.space() == MemorySpace::host && data.dtype() == dtype,
        "{} is written from contiguous memory as {}", name, name_of(dtype));
  check(hdf5::elements(boxes) == data.elements(), "{} elements of {} in boxes of {}",
        data.elements(), name, hdf5::elements(boxes));
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  const auto* at = static_cast<const std::byte*>(data.data());
  std::vector<DataSegment> out;
  for (const auto& [begin, count] : hdf5::runs_of(shape, boxes)) {
    auto extent = std::ranges::upper_bound(extents, begin, {}, &DataExtent::end);
    for (std::int64_t first = begin; first < begin + count; first = (extent++)->end) {
      const std::int64_t bytes = (std::min(begin + count, extent->end) - first) * width;
      out.push_back(
          {extent->file, extent->offset + (first - extent->first) * width, bytes, at, first});
      at += bytes;
    }
  }
  return out;
}

std::int64_t CheckpointExtents::offset(const std::string& name,
                                       const std::vector<hdf5::Box>& boxes) const {
  const auto found = tensors_.find(name);
  check(found != tensors_.end(), "the checkpoint was made without {}", name);
  const auto& [dtype, shape, extents] = found->second;
  const std::vector<hdf5::Run> runs = hdf5::runs_of(shape, boxes);
  if (runs.empty()) return 0;
  const auto extent = std::ranges::upper_bound(extents, runs.front().first, {}, &DataExtent::end);
  return extent->offset +
         (runs.front().first - extent->first) * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace triax
