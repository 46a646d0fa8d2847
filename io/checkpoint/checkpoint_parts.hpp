// SPDX-License-Identifier: Apache-2.0
#pragma once
// Part files of a checkpoint with checkpoint.files > 1 (io/checkpoint/README.md). Internal to io/.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "io/checkpoint/write/checkpoint_extents.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// Rows [begin, end) of a tensor (indices of its first dimension) in one part file. A scalar is one
/// row.
struct TensorSlice {
  std::size_t part;
  std::int64_t begin, end;
};

/// Distributes tensors, in order, over `parts` files (>= 1) with about equal bytes. A tensor lies
/// in one file unless the end of a file's share falls within its rows. Returns the slices of each
/// tensor, in the order of its rows.
std::vector<std::vector<TensorSlice>> deal_tensors(const std::vector<CheckpointTensor>& tensors,
                                                   std::size_t parts);

/// Creates and links the part files of one checkpoint. Collective functions throw Errors on all
/// ranks alike.
class CheckpointParts {
 public:
  /// Collective. Creates a new directory "<master>.parts", or ".parts-1", ... where the name is
  /// taken.
  CheckpointParts(const std::string& master, int parts, const Ranks& ranks,
                  const hdf5::FileHints& hints);
  /// Collective. Creates "part-000.h5" and so on with their datasets. Error where disk space for
  /// them is missing.
  void create(const std::vector<CheckpointTensor>& tensors);
  /// Locations of the tensors' data, after create().
  CheckpointExtents extents() const;
  /// Waits until the files and their directory are on disk. Called by one rank.
  void finish() const;
  /// Creates virtual datasets of `master` that show the parts. Called by one rank, after finish().
  void link(hdf5::File& master) const;
  /// JSON for CheckpointHeader::parts. Called by one rank, after finish().
  std::string description() const;
  /// Removes the directory with its files. Rank 0 must call it.
  void discard() noexcept;

 private:
  struct SlicedTensor {
    CheckpointTensor tensor;
    std::vector<TensorSlice> slices;
    std::size_t first_slice;  // index into offsets_
  };
  void create_part(std::size_t part, const std::vector<CheckpointTensor>& tensors);
  std::string path(std::size_t part) const;

  std::string directory_;
  Ranks ranks_;
  hdf5::FileHints hints_;
  std::size_t parts_;
  std::vector<std::uint64_t> offsets_;  // of each slice's data in its file
  std::map<std::string, SlicedTensor> tensors_;
};

/// CheckpointHeader::parts, parsed: a directory beside the master, and the bytes of each file.
struct PartList {
  std::string directory;  // its name alone; empty: a single file, no parts
  std::vector<std::int64_t> bytes;
  /// Paths of the part files of the checkpoint `master`.
  std::vector<std::string> paths(const std::string& master) const;
};
/// Parses the JSON of description(). Error where it is damaged.
PartList parse_parts(const std::string& description);
/// Error where a part of the checkpoint `master` is missing or has another length.
void check_parts(const std::string& master, const PartList& parts);

/// Whether `name` is that of a part directory, "<master>.parts" or "<master>.parts-<number>" with a
/// master "*.h5"; `master` becomes the master's file name.
bool is_parts_directory(const std::string& name, std::string& master);
/// Path of a checkpoint's part directory. Empty: a single file, no parts. Nothing: the file cannot
/// be read.
std::optional<std::string> parts_directory_of(const std::string& master);

}  // namespace triax
