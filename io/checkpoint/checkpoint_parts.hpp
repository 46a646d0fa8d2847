#pragma once
// The part files of a checkpoint whose data lie in several files (io/README.md). Internal to io/.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "io/checkpoint/write/checkpoint_places.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// Rows of a tensor (indices of its first dimension) that lie in one part. A scalar is one row.
struct TensorSlice {
  std::size_t part;
  std::int64_t begin, end;
};

/// Deals tensors to `parts` files (>= 1), in their order and about as many bytes to each: a tensor
/// lies in one file unless a share's end falls within its rows. In the order of the tensors; the
/// slices of each in the order of its rows.
std::vector<std::vector<TensorSlice>> deal_tensors(const std::vector<CheckpointTensor>& tensors,
                                                   std::size_t parts);

/// Writes the parts of one checkpoint. Errors of collective functions are thrown on all ranks
/// alike.
class CheckpointParts {
 public:
  /// Collective. Makes a new directory "<master>.parts" (or ".parts-1", ... where that is taken).
  CheckpointParts(const std::string& master, int parts, const Ranks& ranks,
                  const hdf5::FileHints& hints);
  /// Collective. Makes "part-000.h5" and so on with their datasets. Error when the disk has no room
  /// for them.
  void create(const std::vector<CheckpointTensor>& tensors);
  /// After create: where the tensors' data lie.
  CheckpointPlaces places() const;
  /// By one rank: waits until the files and their directory are on disk.
  void finish() const;
  /// By one rank, after finish: virtual datasets of `master` that show the parts.
  void link(hdf5::File& master) const;
  /// By one rank, after finish: what the header says of the parts.
  std::string description() const;
  /// By one rank at least. Removes what was written.
  void discard() noexcept;

 private:
  struct Place {
    CheckpointTensor tensor;
    std::vector<TensorSlice> slices;
    std::size_t first_slice;  // of offsets_
  };
  void create_part(std::size_t part, const std::vector<CheckpointTensor>& tensors);
  std::string path(std::size_t part) const;

  std::string directory_;
  Ranks ranks_;
  hdf5::FileHints hints_;
  std::size_t parts_;
  std::vector<std::uint64_t> offsets_;  // where the data of each slice begin in its file
  std::map<std::string, Place> places_;
};

/// What a header says of its parts: a directory beside the master, and the bytes of each file.
struct PartList {
  std::string directory;  // its name alone; empty: one file holds everything
  std::vector<std::int64_t> bytes;
  /// Paths of the part files of the checkpoint `master`.
  std::vector<std::string> paths(const std::string& master) const;
};
/// Error where it is not what description() writes.
PartList parse_parts(const std::string& description);
/// Error where a part of the checkpoint `master` is not there, or not of its length.
void check_parts(const std::string& master, const PartList& parts);

/// True for the name of a directory that holds parts of the checkpoint file "step-<digits>.h5";
/// `master` becomes that file's name.
bool is_parts_directory(const std::string& name, std::string& master);
/// The path of the directory with the parts of a checkpoint; empty: one file holds everything;
/// nothing: it cannot be read.
std::optional<std::string> parts_directory_of(const std::string& master);

}  // namespace triax
