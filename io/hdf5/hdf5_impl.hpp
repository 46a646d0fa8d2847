#pragma once
// The body of hdf5::File. Internal to io/.
#include <memory>
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "io/hdf5/hdf5_sources.hpp"

namespace triax::hdf5 {

/// How a file is created. Objects of at least 64 KiB (create_blocks: all) begin at a
/// multiple of the hints' alignment. `structure_bytes`: see FileInMemory.
Handle file_access(File::Mode mode, const FileHints& hints, std::int64_t structure_bytes = 0);
/// Error where it cannot be.
Handle create_file(const std::string& path, File::Mode mode, const Handle& access);
/// Error that says why, where it cannot be opened.
Handle open_to_read(const std::string& path);

struct File::Impl {
  std::string path;
  Handle file;
  // What was read last stays open, with its cache of chunks: samples of tokens come from one.
  mutable OpenSet read_set;
  mutable std::string read_name;
  mutable Sources sources;

  /// Throws unless `ok`: "cannot <what> <object> in <path> (HDF5: ...)".
  void require(bool ok, const char* what, const std::string& object) const;
  [[noreturn]] void fail(const char* what, const std::string& object, const std::string& why) const;
  /// Contiguous, space allocated and not filled; groups on the way are created.
  void create_dataset(const std::string& name, const Handle& type, const Shape& shape);
  Handle dataset(const std::string& name) const;
  /// False for a dataset in another file, which an external link leads to.
  bool has(const Handle& dataset) const;
  /// A group or dataset.
  Handle object(const std::string& name) const;
  Handle space_of(const Handle& dataset, const std::string& name) const;
  Handle attribute(const std::string& object, const std::string& name) const;
  void write_attribute(const std::string& object, const std::string& name, const Handle& type,
                       const void* value);
  void read_attribute(const std::string& object, const std::string& name, hid_t type,
                      void* value) const;
  /// Reads or writes one run of boxes of the dataset `set`.
  template <class Transfer>
  void transfer(const Handle& set, const std::string& name, const std::vector<Box>& boxes,
                const Tensor& data, const char* what, Transfer transfer) const;
  /// Closes what was open to be read.
  void let_go() const;
  OpenSet& set_to_read(const std::string& name) const;
};

}  // namespace triax::hdf5
