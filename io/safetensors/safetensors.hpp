#pragma once
// The safetensors format: 8 bytes of header length, a JSON header, then raw little-endian tensors.
// Shards with a model.safetensors.index.json are read as one.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

/// The names that readers look for in a model's directory.
constexpr const char* safetensors_single_name = "model.safetensors";
constexpr const char* safetensors_index_name = "model.safetensors.index.json";

struct SafetensorsEntry {
  DType dtype;
  Shape shape;
};

/// The files that a SafetensorsReader of `path` reads: one, or an index and its shards. Error:
/// there is none, or the index is damaged.
std::vector<std::string> safetensors_files(const std::string& path);

class SafetensorsReader {
 public:
  /// A .safetensors file, an index.json, or a directory that holds either. Headers are checked
  /// whole (offsets inside the file, no overlap, sizes equal to shape x type).
  explicit SafetensorsReader(const std::string& path);
  ~SafetensorsReader();
  SafetensorsReader(SafetensorsReader&&) noexcept;
  /// Tensors of a DType and of at most Shape::max_rank dimensions; others are an Error only when
  /// they are read.
  const std::map<std::string, SafetensorsEntry>& entries() const;
  /// Tensors of any type and shape.
  bool contains(const std::string& name) const;
  /// Of a tensor that can be read; an Error that says why where it cannot.
  const SafetensorsEntry& entry(const std::string& name) const;
  /// Elements [begin, begin + out.elements()) in row-major order, converted to float32 (f32, f16,
  /// bf16, f64 on disk). out: contiguous f32 in host memory. Error: no such tensor, or not a
  /// floating-point one. Safe from several threads.
  /// The files are in memory as far as most_mapped bytes of them.
  void read(const std::string& name, std::int64_t begin, const Tensor& out) const;
  static constexpr std::size_t most_mapped = std::size_t{16} << 20;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax
