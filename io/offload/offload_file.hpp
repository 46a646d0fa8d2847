#pragma once
// What one rank keeps on disk while it trains (ZeRO-Infinity, Rajbhandari et al. 2021): named
// one-dimensional datasets in an HDF5 file, read and written past HDF5 by a BlockFile at the
// datasets' places in the file. So h5ls and h5dump read the file while a run lives on it.
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

/// `elements` rounded up to a whole number of aligned pages (BlockFile::alignment). What is
/// transferred: memory of a dataset's end must have room for it.
constexpr std::int64_t padded_elements(DType dtype, std::int64_t elements) {
  const std::int64_t page = BlockFile::alignment / static_cast<std::int64_t>(size_of(dtype));
  return (elements + page - 1) / page * page;
}
/// The bytes of these: what a dataset takes in the file, and a part of it in memory.
constexpr std::int64_t padded_bytes(DType dtype, std::int64_t elements) {
  return padded_elements(dtype, elements) * static_cast<std::int64_t>(size_of(dtype));
}
inline std::int64_t padded_bytes(const OffloadDataset& dataset) {
  return padded_bytes(dataset.dtype, dataset.elements);
}

/// Removes the files of a directory whose names begin with `prefix` and on which no process lives,
/// and returns their paths: what killed runs left. Where the file system has no locks, none. No
/// process makes such a file meanwhile.
std::vector<std::string> remove_left_files(const std::string& directory, const std::string& prefix);

/// The file. One thread uses it, and nothing is allocated per call (see BlockFile).
class OffloadFile {
 public:
  struct Options {
    BlockFile::Options blocks;  // always writable
    bool keep = false;          // false: the file is removed when the object goes
  };

  /// Makes the file, with space for all datasets taken at once; their elements are zero until
  /// written. A file of that name is replaced where no process lives on it: the lock of the file
  /// (fcntl(2), F_OFD_SETLK) goes with its process. Error where the directory is missing or not
  /// writable, where another process lives on the file, and where the disk has no room.
  OffloadFile(const std::string& path, const std::vector<OffloadDataset>& datasets,
              const Options& options);
  /// Waits for all transfers.
  ~OffloadFile();
  OffloadFile(const OffloadFile&) = delete;
  OffloadFile& operator=(const OffloadFile&) = delete;

  /// Start reading or writing elements [first, first + tensor.elements()) of a dataset, named by
  /// its place in the constructor's list. The tensor is contiguous host memory of the dataset's
  /// type, at an address aligned to 4096 bytes; `first` begins a page (4096 bytes) of the dataset,
  /// and the count fills pages or reaches the dataset's end. Then the rest of the last page is
  /// transferred too: the memory must have room for padded_elements(count).
  BlockRequest read(std::size_t dataset, std::int64_t first, const Tensor& to);
  BlockRequest write(std::size_t dataset, std::int64_t first, const Tensor& from);

  /// One line: the file, and how it is read and written.
  std::string description() const;
  /// Bytes the file takes on the disk.
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
  std::unique_ptr<Claim> claim_;  // outlives the transfers
  std::unique_ptr<BlockFile> blocks_;
};

}  // namespace triax
