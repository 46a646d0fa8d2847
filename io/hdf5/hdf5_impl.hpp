// SPDX-License-Identifier: Apache-2.0
#pragma once
// Implementation of hdf5::File. Internal to io/.
#include <memory>
#include <string>

#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_handle.hpp"
#include "io/hdf5/hdf5_sources.hpp"

namespace triax::hdf5 {

/// Access properties of a file to be created. Objects of at least 64 KiB (create_blocks: all) begin
/// at a multiple of hints.alignment. `structure_bytes`: see FileInMemory.
Handle file_access(File::Mode mode, const FileHints& hints, std::int64_t structure_bytes = 0);
/// Creates a file, replacing an existing one. Error where HDF5 fails.
Handle create_file(const std::string& path, File::Mode mode, const Handle& access);
/// Opens a file for reading. Error with the reason where that fails.
Handle open_to_read(const std::string& path);

struct File::Impl {
  std::string path;
  Handle file;
  // The dataset read last stays open with its chunk cache: a run reads all token samples from one.
  mutable OpenSet read_set;
  mutable std::string read_name;
  mutable Sources sources;

  /// Throws unless `ok`: "cannot <what> <object> in <path> (HDF5: ...)".
  void require(bool ok, const char* what, const std::string& object) const;
  [[noreturn]] void fail(const char* what, const std::string& object, const std::string& why) const;
  /// As File::create_dataset().
  void create_dataset(const std::string& name, const Handle& type, const Shape& shape);
  Handle dataset(const std::string& name) const;
  /// False for a dataset in another file, behind an external link.
  bool has(const Handle& dataset) const;
  /// A group or dataset.
  Handle object(const std::string& name) const;
  Handle space_of(const Handle& dataset, const std::string& name) const;
  Handle attribute(const std::string& object, const std::string& name) const;
  void write_attribute(const std::string& object, const std::string& name, const Handle& type,
                       const void* value);
  void read_attribute(const std::string& object, const std::string& name, hid_t type,
                      void* value) const;
  /// Reads or writes boxes of the dataset `set`, in pieces of at most 1 GiB.
  template <class Transfer>
  void transfer(const Handle& set, const std::string& name, const std::vector<Box>& boxes,
                const Tensor& data, const char* what, Transfer transfer) const;
  /// Closes the datasets that are open for reading.
  void let_go() const;
  OpenSet& set_to_read(const std::string& name) const;
};

}  // namespace triax::hdf5
