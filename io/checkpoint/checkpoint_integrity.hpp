#pragma once
// The checksums of a checkpoint: the group /integrity (io/README.md). Internal to io/.
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "io/checkpoint/write/checkpoint_places.hpp"
#include "io/checkpoint/write/segment_writer.hpp"
#include "io/files/checksum.hpp"

namespace triax {

/// Elements that one checksum of a tensor covers, in the files written here: what a load has on its
/// way to and fro, several times over. Less of it is memory that has to be found, and more of it
/// stays in the processor's cache. Files of earlier versions have twice as many, and a load of one
/// takes up to twice loading_bytes_at_once.
constexpr std::int64_t integrity_block = std::int64_t{1} << 19;

/// The checksums that this rank's part of a checkpoint's tensors adds up to. Added to those of all
/// other ranks they are the file's.
class TensorChecksums {
 public:
  TensorChecksums() = default;
  explicit TensorChecksums(const std::vector<CheckpointTensor>& tensors);
  /// The elements in segments of a tensor; each of its elements is to be added once.
  void add(const std::string& name, std::span<const DataSegment> segments);
  /// Of all tensors, one after another.
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

/// Checksums that a tensor of so many elements has.
std::int64_t integrity_blocks(std::int64_t elements, std::int64_t block);

/// Makes /integrity with the checksums of header and list of tensors, and the datasets of the
/// tensors' own.
void create_integrity(hdf5::File& file, const CheckpointHeader& header,
                      const std::vector<CheckpointTensor>& tensors);
/// Those datasets, their words as i64.
std::vector<CheckpointTensor> integrity_datasets(const std::vector<CheckpointTensor>& tensors);
/// Fills those datasets. By one rank.
void write_integrity(hdf5::File& file, const std::vector<CheckpointTensor>& tensors,
                     const TensorChecksums& sums);
void write_integrity(const CheckpointPlaces& places, SegmentWriter& writer,
                     const std::vector<CheckpointTensor>& tensors, const TensorChecksums& sums);

/// Error where the attributes of the root are not those that were written.
void check_header(const hdf5::File& file, const std::string& path, const CheckpointHeader& header);
/// Error where names, types or shapes are not those that were written.
void check_tensors(const hdf5::File& file, const std::string& path,
                   const std::vector<CheckpointTensor>& tensors);
/// Elements of a block in this file.
std::int64_t read_integrity_block(const hdf5::File& file, const std::string& path);
/// The checksums of a tensor.
std::vector<std::uint64_t> read_integrity(const hdf5::File& file, const std::string& tensor);

/// Writes the checksum of a closed file with virtual datasets into its user block. HDF5 1.10 may
/// crash or hang on a damaged list of virtual sources, so that it must not see one.
void seal_master(const std::string& path);
/// Error where a file whose HDF5 data begin behind a user block is not as it was sealed. Of other
/// files, whatever they are, nothing is asked. Before HDF5 opens it.
void check_seal(const std::string& path);

}  // namespace triax
