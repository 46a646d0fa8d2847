// SPDX-License-Identifier: Apache-2.0
#pragma once
// New HDF5 files of compressed one-dimensional datasets. HDF5 compresses in the thread that writes,
// under its lock; here any thread compresses a chunk, and one puts it into the file as it is.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace triax::hdf5 {

enum class ChunkType : std::uint8_t { u16, u32, i64 };
std::size_t size_of(ChunkType type);  // bytes of an element

struct ChunkedDataset {
  std::string name;
  ChunkType type = ChunkType::u16;
  std::int64_t elements = 0;
  std::int64_t chunk = 1;  // elements of a chunk
};

/// A chunk through HDF5's filters shuffle and gzip (H5Pset_shuffle, H5Pset_deflate). `elements`: at
/// most those of a chunk; the rest of the chunk is zeros. Thread-safe.
std::vector<std::byte> compressed_chunk(std::span<const std::byte> elements,
                                        const ChunkedDataset& dataset);

/// A file with such datasets, in order of creation.
class ChunkedFile {
 public:
  /// Replaces a file of this name. `data_bytes`: of all compressed chunks; disk space for them and
  /// the structure is reserved first, as HDF5 1.10 does not survive a failing write. Error where
  /// there is no room.
  ChunkedFile(const std::string& path, const std::vector<ChunkedDataset>& datasets,
              std::int64_t data_bytes);
  ~ChunkedFile();
  ChunkedFile(const ChunkedFile&) = delete;
  ChunkedFile& operator=(const ChunkedFile&) = delete;

  /// Attributes of the root group.
  void write_attribute(const std::string& name, const std::string& value);
  void write_attribute(const std::string& name, std::int64_t value);
  /// Chunk `chunk` of dataset `dataset`, as compressed_chunk() gives it.
  void write_chunk(std::size_t dataset, std::int64_t chunk, std::span<const std::byte> data);
  /// Closes the file with its data on disk.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax::hdf5
