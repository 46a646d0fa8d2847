// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the safetensors format (Hugging Face): 8 bytes of header length, a JSON header, raw
// little-endian tensors. Shards with a model.safetensors.index.json are read as one file.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

/// File names that readers look for in a model directory.
constexpr const char* safetensors_single_name = "model.safetensors";
constexpr const char* safetensors_index_name = "model.safetensors.index.json";

struct SafetensorsEntry {
  DType dtype;
  Shape shape;
};

/// A tensor as the header has it, of any type and number of dimensions.
struct SafetensorsStored {
  std::string type;  // "F32", "I8", ...
  std::vector<std::int64_t> shape;
  std::int64_t bytes;
};

/// Files that a SafetensorsReader of `path` reads: one file, or an index and its shards. Error
/// where there is none or the index is damaged.
std::vector<std::string> safetensors_files(const std::string& path);

class SafetensorsReader {
 public:
  /// `path`: a .safetensors file, an index.json, or a directory with one of them. Checks the
  /// headers completely: offsets inside the file, no overlap, sizes equal to shape x type.
  explicit SafetensorsReader(const std::string& path);
  ~SafetensorsReader();
  SafetensorsReader(SafetensorsReader&&) noexcept;
  /// Tensors that have a DType and at most Shape::max_rank dimensions. Other tensors are an Error
  /// only when they are read.
  const std::map<std::string, SafetensorsEntry>& entries() const;
  /// Whether there is a tensor of this name, of any type and shape.
  bool contains(const std::string& name) const;
  /// Type and shape of a tensor. Error with the reason where it is missing or cannot be read.
  const SafetensorsEntry& entry(const std::string& name) const;
  /// Reads elements [begin, begin + out.elements()) in row-major order, converted to float32 (from
  /// f32, f16, bf16 or f64). out: contiguous f32 in host memory. Error: no such tensor, or not a
  /// floating-point one. Thread-safe. At most about most_mapped bytes of the files are mapped in
  /// memory at a time.
  void read(const std::string& name, std::int64_t begin, const Tensor& out) const;
  /// Names of all tensors, of any type and shape.
  std::vector<std::string> names() const;
  /// Any tensor as the header has it. Error where it is missing.
  SafetensorsStored stored(const std::string& name) const;
  /// Copies bytes [begin, begin + count) of any tensor to `out`. Thread-safe.
  void read_bytes(const std::string& name, std::int64_t begin, void* out, std::int64_t count) const;
  static constexpr std::size_t most_mapped = std::size_t{16} << 20;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax
