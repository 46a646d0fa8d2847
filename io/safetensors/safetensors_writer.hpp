#pragma once
// Writes the safetensors format (see safetensors.hpp), piece by piece: never a whole tensor in
// memory.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/files/durable.hpp"
#include "kernels/base/tensor.hpp"

namespace triax {

/// A tensor of a file to be written: f64, f32, bf16, f16, or an integer type.
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t bytes() const {
    return shape.elements() * static_cast<std::int64_t>(size_of(dtype));
  }
  bool operator==(const SafetensorsTensor&) const = default;
};

/// Writes one file, which has its name only when it is whole and on the disk. Tensors lie as the
/// reference library lays them: widest type first, then by name. Errors have the system's reason.
class SafetensorsWriter {
 public:
  /// Opens "<path>.tmp", in a directory that is there; one that a killed program left is replaced.
  /// Error where there is no room for all of it.
  SafetensorsWriter(const std::string& path, std::vector<SafetensorsTensor> tensors);
  ~SafetensorsWriter();  // an unpublished file is removed
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;
  /// Elements [begin, begin + data.elements()) of a tensor, in row-major order. data: contiguous,
  /// in host memory, of the tensor's type. Each element is to be written once.
  void write(const std::string& name, std::int64_t begin, const Tensor& data);
  /// Waits until the data are on the disk, and closes the file, not yet under its name.
  void finish();
  /// finish() where it has not been called, then the file's name. Error where there is a file of
  /// that name which is to be kept.
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

/// One file of a model that may be cut into several, and what it holds.
struct SafetensorsShard {
  std::string file;  // "model.safetensors", or "model-00001-of-00003.safetensors"
  std::vector<SafetensorsTensor> tensors;
};

/// Cuts a model into files of at most `shard_bytes` bytes of tensors each, in the order given; a
/// larger tensor has a file of its own. At least one file.
std::vector<SafetensorsShard> cut_into_shards(const std::vector<SafetensorsTensor>& tensors,
                                              std::int64_t shard_bytes);

/// The text of model.safetensors.index.json.
std::string safetensors_index(const std::vector<SafetensorsShard>& shards);

}  // namespace triax
