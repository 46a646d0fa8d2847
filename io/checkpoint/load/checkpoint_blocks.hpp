// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checksum chunks of a checkpoint's tensors, which are also the units of reading. Code and
// messages call a chunk a block. Internal to io/.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/tensor_pieces.hpp"

namespace triax {

/// A range of bytes of one file.
struct FileRange {
  std::size_t file;
  std::int64_t offset, bytes;
  bool operator==(const FileRange&) const = default;
};

/// All chunks, numbered over all tensors in the order of TensorPieces. Rank 0 reads the lists and
/// broadcasts them.
class CheckpointBlocks {
 public:
  /// Collective. Error on all ranks alike where the list of tensors or of checksums is damaged.
  CheckpointBlocks(const CheckpointReader& reader, const Ranks& ranks);

  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  bool has_checksums() const { return has_checksums_; }
  /// Elements per chunk.
  std::int64_t elements() const { return elements_; }
  /// The files, indexed by FileRange::file.
  const std::vector<std::string>& files() const { return files_; }
  /// Index of a tensor in tensors().
  std::size_t find(const std::string& name) const;
  /// Number of the tensor's first chunk.
  std::int64_t first_of(std::size_t tensor) const { return places_[tensor].first; }
  TensorPiece at(std::int64_t block) const;
  /// Bytes of the chunk's data.
  std::int64_t bytes(std::int64_t block) const;

  /// Locations of the chunk's bytes, in order; empty where only HDF5 can read them.
  std::vector<FileRange> ranges(std::int64_t block) const;
  /// Bytes of memory for reading the chunk in whole pages, a multiple of BlockFile::alignment.
  std::int64_t footprint(std::int64_t block) const {
    return footprints_[static_cast<std::size_t>(block)];
  }
  /// Offset of the chunk's data in that memory.
  std::int64_t data_offset(std::int64_t block) const;

  /// Whether `data` match the chunk's checksum; true where the file has no checksums. Copies them
  /// to `copy` too, unless that is null or equal to their address.
  bool matches(std::int64_t block, const Tensor& data, std::byte* copy = nullptr) const;
  /// "/model/x block 3, bytes 12582912 to 16777216"
  std::string text(std::int64_t block) const;

 private:
  struct Place {
    std::int64_t first = 0;           // number of its first chunk
    std::vector<DataExtent> extents;  // empty: only HDF5 can read it
    std::vector<std::uint64_t> sums;
  };
  void find_out(const CheckpointReader& reader);
  std::string packed() const;
  void unpack(const std::string& text);
  void number();

  bool has_checksums_ = false;
  std::int64_t elements_ = 1;
  std::vector<std::string> files_;
  std::vector<CheckpointTensor> tensors_;
  std::vector<Place> places_;             // by tensor
  std::vector<std::int64_t> footprints_;  // by chunk
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace triax
