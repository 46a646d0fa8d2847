#pragma once
// Reads datasets, virtual ones source by source. HDF5 reads whatever does not open of a virtual
// dataset as its fill value, and says nothing: a source that is not there, that no descriptor is
// left for, that the program has open in another way. Internal to io/.
#include <memory>
#include <string>
#include <vector>

#include "io/files/file_length.hpp"
#include "io/hdf5/hdf5_mapping.hpp"
#include "io/hdf5/hdf5_storage.hpp"

namespace triax::hdf5 {

/// An open dataset.
struct OpenSet {
  Handle file;  // where it was opened for this dataset
  Handle set;
  Layout layout;
  std::string path;       // of the file that it lies in
  FileLength length;      // of that file
  std::string key;        // among the sources
  bool was_read = false;  // since its length was compared
};
OpenSet open_set(Handle file, Handle set);

/// The sources of the virtual datasets of one file, of which the last used few stay open.
class Sources {
 public:
  /// The selected elements of `from` to the selected elements of memory.
  void read(OpenSet& from, hid_t type, hid_t memory, hid_t selection, void* to, int depth = 0);
  /// Which of the selected elements of a dataset are in no file. Reads no data.
  Gap gap(OpenSet& from, hid_t selection, int depth = 0);
  /// Error where a file that was read has become shorter since it was opened: HDF5 reads zeros
  /// behind its end.
  void check_lengths();

 private:
  struct Source {
    std::shared_ptr<OpenSet> set;
    Fit fit;
  };
  // Errors say which source it is and what is wrong with it.
  Source find(const OpenSet& from, const Mapping& mapping);
  Handle file_at(const std::string& path, const OpenSet& from) const;
  std::shared_ptr<OpenSet> open(const OpenSet& from, const Mapping& mapping);
  Gap gap_of_mappings(OpenSet& from, hid_t selection, int depth);

  std::vector<std::shared_ptr<OpenSet>> recent_;  // the last used last
};

}  // namespace triax::hdf5
