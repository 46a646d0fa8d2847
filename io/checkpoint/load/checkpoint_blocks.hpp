#pragma once
// The blocks of a checkpoint's tensors: what one checksum covers is what is read at once. Internal
// to io/.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/tensor_pieces.hpp"

namespace triax {

/// Consecutive bytes of one of the files.
struct FileRange {
  std::size_t file;
  std::int64_t offset, bytes;
  bool operator==(const FileRange&) const = default;
};

/// The same on every rank: rank 0 finds it out. Blocks are counted over all tensors, as
/// TensorPieces counts them.
class CheckpointBlocks {
 public:
  /// Collective. Error, on all ranks alike, where the list of tensors or of checksums is damaged.
  CheckpointBlocks(const CheckpointReader& reader, const Ranks& ranks);

  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  bool has_checksums() const { return has_checksums_; }
  /// Elements of a block.
  std::int64_t elements() const { return elements_; }
  /// The files that ranges speak of.
  const std::vector<std::string>& files() const { return files_; }
  /// Which of tensors().
  std::size_t find(const std::string& name) const;
  /// The tensor's first block.
  std::int64_t first_of(std::size_t tensor) const { return places_[tensor].first; }
  TensorPiece at(std::int64_t block) const;
  /// Of its data.
  std::int64_t bytes(std::int64_t block) const;

  /// Where the block's bytes lie, in order; empty where HDF5 alone can read them.
  std::vector<FileRange> ranges(std::int64_t block) const;
  /// Reading takes whole pages: so many bytes of memory, a multiple of BlockFile::alignment,
  std::int64_t footprint(std::int64_t block) const {
    return footprints_[static_cast<std::size_t>(block)];
  }
  /// in which the block's data begin here.
  std::int64_t data_offset(std::int64_t block) const;

  /// Whether data add up to the block's checksum; true where the file has none. They are copied to
  /// `copy` too, unless that is null or where they are.
  bool matches(std::int64_t block, const Tensor& data, std::byte* copy = nullptr) const;
  /// "/model/x block 3, bytes 12582912 to 16777216"
  std::string text(std::int64_t block) const;

 private:
  struct Place {
    std::int64_t first = 0;           // block
    std::vector<DataExtent> extents;  // empty: HDF5 alone can read it
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
  std::vector<Place> places_;             // of the tensors
  std::vector<std::int64_t> footprints_;  // of the blocks
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace triax
