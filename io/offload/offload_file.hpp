// SPDX-License-Identifier: Apache-2.0
#pragma once
// Offload file: the state that one rank keeps on disk while it trains (ZeRO-Infinity, Rajbhandari
// et al. 2021). It is an HDF5 file of named one-dimensional datasets, which a BlockFile reads and
// writes in place, at their offsets. h5ls and h5dump can read it during the run.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/direct/block_file.hpp"
#include "kernels/base/tensor.hpp"

namespace triax {

/// A dataset of an OffloadFile: a full name such as "/optimizer/exp_avg/block 3".
struct OffloadDataset {
  std::string name;
  DType dtype = DType::f32;
  std::int64_t elements = 0;
};

/// `elements` rounded up to whole pages (BlockFile::alignment), as transfers are: memory for the
/// end of a dataset must have room for them.
constexpr std::int64_t padded_elements(DType dtype, std::int64_t elements) {
  const std::int64_t page = BlockFile::alignment / static_cast<std::int64_t>(size_of(dtype));
  return (elements + page - 1) / page * page;
}
/// Bytes of padded_elements(): the size of a dataset in the file, or of a transfer in memory.
constexpr std::int64_t padded_bytes(DType dtype, std::int64_t elements) {
  return padded_elements(dtype, elements) * static_cast<std::int64_t>(size_of(dtype));
}
inline std::int64_t padded_bytes(const OffloadDataset& dataset) {
  return padded_bytes(dataset.dtype, dataset.elements);
}

/// Removes offload files that killed runs left: files of `directory` that begin with `prefix` and
/// that no process has locked. Returns their paths, sorted. Removes none where the file system has
/// no locks. No process may create such a file meanwhile.
std::vector<std::string> remove_left_files(const std::string& directory, const std::string& prefix);

/// An offload file, used by one thread. Calls allocate nothing (see BlockFile).
class OffloadFile {
 public:
  struct Options {
    BlockFile::Options blocks;  // always writable
    bool keep = false;          // false: the destructor removes the file
  };

  /// Creates the file and reserves disk space for all datasets; elements are zero until written.
  /// Replaces a file of that name unless another process has locked it. Error where the directory
  /// is missing or not writable, where another process uses the file, or where disk space is short.
  OffloadFile(const std::string& path, const std::vector<OffloadDataset>& datasets,
              const Options& options);
  /// Waits for all transfers.
  ~OffloadFile();
  OffloadFile(const OffloadFile&) = delete;
  OffloadFile& operator=(const OffloadFile&) = delete;

  /// Starts reading or writing elements [first, first + tensor.elements()) of a dataset, given by
  /// its index in the constructor's list. tensor: contiguous host memory of the dataset's type,
  /// aligned to 4096 bytes. `first` begins a page (4096 bytes) of the dataset, and the count fills
  /// pages or reaches the dataset's end. The last page is transferred whole: the memory must have
  /// room for padded_elements(count).
  BlockRequest read(std::size_t dataset, std::int64_t first, const Tensor& to);
  BlockRequest write(std::size_t dataset, std::int64_t first, const Tensor& from);

  /// One line for the log: the file, and how it is read and written.
  std::string description() const;
  /// Size of the file in bytes.
  std::int64_t bytes() const { return bytes_; }

 private:
  class Claim;
  struct Extent {
    OffloadDataset dataset;
    std::int64_t offset = 0;  // bytes
  };
  struct Range {
    std::int64_t offset = 0;
    std::size_t bytes = 0;
  };
  void create(const std::vector<OffloadDataset>& datasets);
  Range range(std::size_t dataset, std::int64_t first, const Tensor& tensor) const;

  std::string path_;
  std::vector<Extent> extents_;
  std::int64_t bytes_ = 0;
  std::unique_ptr<Claim> claim_;  // declared first: outlives the transfers
  std::unique_ptr<BlockFile> blocks_;
};

}  // namespace triax
