// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads datasets, virtual ones source by source. HDF5 itself reads the fill value, without an
// error, for every source that does not open: a missing file, no free file descriptor, a file open
// with other access properties. Internal to io/.
#include <memory>
#include <string>
#include <vector>

#include "io/files/file_length.hpp"
#include "io/hdf5/hdf5_mapping.hpp"
#include "io/hdf5/hdf5_storage.hpp"

namespace triax::hdf5 {

/// An open dataset.
struct OpenSet {
  Handle file;  // open where it was opened for this dataset
  Handle set;
  Layout layout;
  std::string path;       // of the file that contains it
  FileLength length;      // length of that file
  std::string key;        // in Sources
  bool was_read = false;  // since the last check of the length
};
OpenSet open_set(Handle file, Handle set);

/// The sources of the virtual datasets of one file. The 64 most recently used stay open.
class Sources {
 public:
  /// Reads the selected elements of `from` into the selected elements of `memory`.
  void read(OpenSet& from, hid_t type, hid_t memory, hid_t selection, void* to, int depth = 0);
  /// The selected elements of a dataset that no file stores. Reads no data. `to_end`: also
  /// elements behind the end, where HDF5 has made the dataset shorter for want of a source.
  Gap gap(OpenSet& from, hid_t selection, bool to_end, int depth = 0);
  /// Error where a file that was read was truncated since it was opened: HDF5 reads zeros beyond
  /// its end.
  void check_lengths();

 private:
  struct Source {
    std::shared_ptr<OpenSet> set;
    Fit fit;
  };
  // Errors name the source and the reason.
  Source find(const OpenSet& from, const Mapping& mapping);
  Handle file_at(const std::string& path, const OpenSet& from) const;
  std::shared_ptr<OpenSet> open(const OpenSet& from, const Mapping& mapping);
  Gap gap_of_mappings(OpenSet& from, hid_t selection, bool to_end, int depth);
  // Reason why the dataset ends before its last source; empty if nothing shows that it does.
  std::string why_short(const OpenSet& from);
  std::string why_next_is_missing(const OpenSet& from);
  std::string shortest_source(const OpenSet& from);

  std::vector<std::shared_ptr<OpenSet>> recent_;  // most recently used last
};

}  // namespace triax::hdf5
