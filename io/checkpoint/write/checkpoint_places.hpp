#pragma once
// Which bytes of which file a checkpoint's tensors are. Internal to io/.
//
// A dataset here is contiguous, has its space from the beginning and its elements as memory has
// them, so that its bytes can be written where they lie by whoever knows the place: HDF5 makes the
// file's structure, and takes no part in the writing.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/hdf5/boxes.hpp"
#include "kernels/base/tensor.hpp"

namespace triax {

/// Elements [first, end) of a tensor, counted row-major, lie in a file from byte `offset` on.
struct DataExtent {
  std::size_t file;
  std::int64_t first, end, offset;
};

/// Consecutive bytes of a file and of memory.
struct DataSegment {
  std::size_t file;
  std::int64_t offset, bytes;
  const std::byte* memory;
  std::int64_t first = 0;  // its first element, counted as extents count
};

class CheckpointPlaces {
 public:
  /// `paths`: the files that extents speak of.
  explicit CheckpointPlaces(std::vector<std::string> paths = {}) : paths_(std::move(paths)) {}
  const std::vector<std::string>& paths() const { return paths_; }

  /// `extents`: in the order of the elements, all of them.
  void add(const std::string& name, DType dtype, const Shape& shape,
           std::vector<DataExtent> extents);
  /// The segments of a tensor's elements in `boxes` (see hdf5::File::write), which are `data` in
  /// the tensor's own type, in the order of the elements.
  std::vector<DataSegment> segments(const std::string& name, const std::vector<hdf5::Box>& boxes,
                                    const Tensor& data) const;
  /// Where in its file the first element of `boxes` lies; 0 where they have none.
  std::int64_t offset(const std::string& name, const std::vector<hdf5::Box>& boxes) const;

 private:
  struct Place {
    DType dtype;
    Shape shape;
    std::vector<DataExtent> extents;
  };
  std::vector<std::string> paths_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace triax
