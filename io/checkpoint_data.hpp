#pragma once
// The data of a checkpoint's tensors, written into their datasets past HDF5. Internal to io/.
//
// A dataset here is contiguous, has its space from the beginning and its elements as memory has
// them, so that its bytes can be written where they lie by whoever knows the place: HDF5 makes the
// file's structure, and neither HDF5 nor MPI takes part in the writing.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/boxes.hpp"
#include "kernels/base/tensor.hpp"

namespace triax {

/// Elements [first, end) of a tensor, counted row-major, lie in a file from byte `offset` on.
struct DataExtent {
  std::size_t file;
  std::int64_t first, end, offset;
};

/// Any one thread at a time.
class CheckpointData {
 public:
  /// `paths`: the files that extents speak of. They are opened when first written to.
  explicit CheckpointData(std::vector<std::string> paths);
  ~CheckpointData();
  CheckpointData(const CheckpointData&) = delete;
  CheckpointData& operator=(const CheckpointData&) = delete;

  /// `extents`: in the order of the elements, all of them.
  void place(const std::string& name, DType dtype, const Shape& shape,
             std::vector<DataExtent> extents);
  /// As hdf5::File::write, in the tensor's own type. Error with the system's reason.
  void write(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data);
  /// Waits until all that was written here is on disk. Error with the system's reason.
  void sync();

 private:
  struct File {
    std::string path;
    int descriptor = -1;
    std::int64_t unsent = 0;  // bytes that the system was not yet told to write
  };
  struct Place {
    std::string name;
    DType dtype;
    Shape shape;
    std::vector<DataExtent> extents;
  };
  void write_run(const Place& place, std::int64_t first, std::int64_t end, const char* data);
  void write_bytes(const std::string& name, File& file, std::int64_t offset, const char* data,
                   std::int64_t bytes);

  std::vector<File> files_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace triax
