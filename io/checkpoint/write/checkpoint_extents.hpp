// SPDX-License-Identifier: Apache-2.0
#pragma once
// Locations of a checkpoint's tensors: file and byte offset. Internal to io/.
//
// A checkpoint's datasets are contiguous, with space allocated at creation and elements stored as
// in memory. So ranks write the bytes at known offsets; HDF5 makes only the file's structure.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/hdf5/boxes.hpp"
#include "kernels/base/tensor.hpp"

namespace triax {

/// Elements [first, end) of a tensor, in row-major order, lie in a file from byte `offset` on.
struct DataExtent {
  std::size_t file;
  std::int64_t first, end, offset;
};

/// Bytes that are consecutive in a file and in memory.
struct DataSegment {
  std::size_t file;
  std::int64_t offset, bytes;
  const std::byte* memory;
  std::int64_t first = 0;  // index of its first element in the tensor, row-major
};

class CheckpointExtents {
 public:
  /// `paths`: the files, indexed by DataExtent::file.
  explicit CheckpointExtents(std::vector<std::string> paths = {}) : paths_(std::move(paths)) {}
  const std::vector<std::string>& paths() const { return paths_; }

  /// Adds a tensor. `extents`: cover all elements, in order.
  void add(const std::string& name, DType dtype, const Shape& shape,
           std::vector<DataExtent> extents);
  /// Segments of the elements in `boxes` (see hdf5::File::write), in row-major order. `data`: these
  /// elements, in the tensor's type.
  std::vector<DataSegment> segments(const std::string& name, const std::vector<hdf5::Box>& boxes,
                                    const Tensor& data) const;
  /// File offset of the first element of `boxes`; 0 where they are empty.
  std::int64_t offset(const std::string& name, const std::vector<hdf5::Box>& boxes) const;

 private:
  struct TensorExtents {
    DType dtype;
    Shape shape;
    std::vector<DataExtent> extents;
  };
  std::vector<std::string> paths_;
  std::unordered_map<std::string, TensorExtents> tensors_;
};

}  // namespace triax
