// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checksums of a checkpoint, in the group /integrity (io/checkpoint/README.md). Internal to
// io/.
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "io/checkpoint/write/checkpoint_extents.hpp"
#include "io/checkpoint/write/segment_writer.hpp"
#include "io/files/checksum.hpp"

namespace triax {

/// Elements per checksum chunk in files written here: 2 MiB of float32. A load holds several chunks
/// in flight; smaller ones need less memory and stay in the processor's cache. Files of earlier
/// versions have chunks twice as large, and loading one takes up to twice loading_bytes_at_once.
constexpr std::int64_t integrity_block = std::int64_t{1} << 19;

/// Checksums of this rank's share of the tensors. The sums of all ranks add up to those of the
/// file.
class TensorChecksums {
 public:
  TensorChecksums() = default;
  explicit TensorChecksums(const std::vector<CheckpointTensor>& tensors);
  /// Adds the elements in segments of a tensor. Each element must be added exactly once.
  void add(const std::string& name, std::span<const DataSegment> segments);
  /// The sums of all tensors, one tensor after another.
  std::span<std::uint64_t> all() { return sums_; }
  std::span<const std::uint64_t> of(const std::string& name) const;

 private:
  struct Place {
    DType dtype;
    std::size_t begin, blocks;  // in sums_
  };
  const Place& place(const std::string& name) const;
  std::unordered_map<std::string, Place> places_;
  std::vector<std::uint64_t> sums_;
};

/// Number of checksums of a tensor: one per `block` elements.
std::int64_t integrity_blocks(std::int64_t elements, std::int64_t block);

/// Creates /integrity with the checksums of the header and of the list of tensors, and the datasets
/// for the checksums of each tensor.
void create_integrity(hdf5::File& file, const CheckpointHeader& header,
                      const std::vector<CheckpointTensor>& tensors);
/// The datasets of /integrity that hold the tensors' checksums, as i64.
std::vector<CheckpointTensor> integrity_datasets(const std::vector<CheckpointTensor>& tensors);
/// Writes the tensors' checksums into their datasets. Called by one rank.
void write_integrity(hdf5::File& file, const std::vector<CheckpointTensor>& tensors,
                     const TensorChecksums& sums);
void write_integrity(const CheckpointExtents& extents, SegmentWriter& writer,
                     const std::vector<CheckpointTensor>& tensors, const TensorChecksums& sums);

/// Error where the attributes of the root differ from those written.
void check_header(const hdf5::File& file, const std::string& path, const CheckpointHeader& header);
/// Error where names, types or shapes of the tensors differ from those written.
void check_tensors(const hdf5::File& file, const std::string& path,
                   const std::vector<CheckpointTensor>& tensors);
/// Elements per checksum chunk of this file. Error where the algorithm is unknown.
std::int64_t read_integrity_block(const hdf5::File& file, const std::string& path);
/// The checksums of a tensor.
std::vector<std::uint64_t> read_integrity(const hdf5::File& file, const std::string& tensor);

/// Writes the checksum of a closed master file into its user block. HDF5 1.10 may crash or hang on
/// a damaged list of virtual sources, so the file is checked before HDF5 sees it.
void seal_master(const std::string& path);
/// Error where a file with a user block of hdf5::File::user_block bytes does not match its seal;
/// any other file passes. Call it before HDF5 opens the file.
void check_seal(const std::string& path);

}  // namespace triax
