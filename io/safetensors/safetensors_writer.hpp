// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the safetensors format (see safetensors.hpp) piece by piece, with no whole tensor in
// memory.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/files/durable.hpp"
#include "kernels/base/tensor.hpp"

namespace triax {

/// A tensor to be written, of a floating-point or integer type.
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::string type = {};  // the format's name of a type of this size that no DType has, such as I8
  std::int64_t bytes() const {
    return shape.elements() * static_cast<std::int64_t>(size_of(dtype));
  }
  bool operator==(const SafetensorsTensor&) const = default;
};

/// Writes one file, which gets its name only when it is whole and on disk. Tensors are in the order
/// of the reference library: widest type first, then by name. Errors carry the system's reason.
class SafetensorsWriter {
 public:
  /// Opens "<path>.tmp" in an existing directory, replacing one that a killed program left. Error
  /// where disk space for the whole file is missing.
  SafetensorsWriter(const std::string& path, std::vector<SafetensorsTensor> tensors);
  ~SafetensorsWriter();  // removes an unpublished file
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;
  /// Writes elements [begin, begin + data.elements()) of a tensor, in row-major order. data:
  /// contiguous, in host memory, of the tensor's type. Each element must be written once.
  void write(const std::string& name, std::int64_t begin, const Tensor& data);
  /// Waits until the data are on disk and closes the file, still named "<path>.tmp".
  void finish();
  /// Calls finish() if that is still to do, then renames the file. Error where a file of that name
  /// exists and `existing` keeps it.
  void publish(Existing existing = Existing::replaced);
  const std::string& path() const { return path_; }

 private:
  struct Place {
    DType dtype;
    std::int64_t elements, offset;  // offset: bytes in the file
  };
  void put(const void* data, std::int64_t bytes, std::int64_t offset);
  void close() noexcept;

  std::string path_, temporary_;
  std::map<std::string, Place> places_;
  int fd_ = -1;
  bool published_ = false;
  std::int64_t missing_ = 0;  // elements not yet written
};

/// One file of a model cut into shards, and its tensors.
struct SafetensorsShard {
  std::string file;  // "model.safetensors", or "model-00001-of-00003.safetensors"
  std::vector<SafetensorsTensor> tensors;
};

/// Cuts a model, in the order given, into files of at most `shard_bytes` bytes of tensors; a larger
/// tensor gets a file of its own. Returns at least one file.
std::vector<SafetensorsShard> cut_into_shards(const std::vector<SafetensorsTensor>& tensors,
                                              std::int64_t shard_bytes);

/// The text of model.safetensors.index.json.
std::string safetensors_index(const std::vector<SafetensorsShard>& shards);

}  // namespace triax
