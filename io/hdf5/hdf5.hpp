// SPDX-License-Identifier: Apache-2.0
#pragma once
// RAII wrapper of HDF5's C API; every call is checked. Only io/ includes HDF5.
//
// Errors name the file, the object and the reason that HDF5 and the system give. HDF5 has one
// global state per process, and Debian's build is not thread-safe: a lock serialises all calls.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/boxes.hpp"
#include "kernels/base/tensor.hpp"

namespace triax::hdf5 {

/// True if MPI_File_open takes `path` as it is: it reads text before a colon as the name of a file
/// system ("ufs:", "lustre:"), so a path with a colon fails or leads to another file.
inline bool mpi_io_takes(const std::string& path) {
  return path.find(':') == path.npos;
}

/// Layout of a new file on a parallel file system; 0: the system's default. Striping is not applied
/// to a path that MPI-IO does not take: see mpi_io_takes().
struct FileHints {
  int striping_factor = 0;         // number of storage targets (MPI-IO hint)
  std::int64_t striping_unit = 0;  // consecutive bytes on one target (MPI-IO hint)
  std::int64_t alignment = 4096;   // bytes; datasets of 64 KiB and more begin at a multiple
};

/// Source of rows [begin, end) of a virtual dataset: the dataset of the same name in `file`, a path
/// relative to the directory of the virtual dataset's file.
struct VirtualSource {
  std::string file;
  std::int64_t begin, end;
};

/// Elements of a dataset stored contiguously in the file, in the same bytes as in memory.
struct PlainData {
  DType dtype;
  std::int64_t elements;
  std::int64_t offset;  // of the first element in the file, in bytes
};

/// An HDF5 file opened by one process.
class File {
 public:
  /// create_blocks: every dataset begins at a multiple of 4096 bytes and shares its last page with
  /// nothing, so that it can be read and written without HDF5. create_behind_block: the first
  /// user_block bytes are left to the caller.
  enum class Mode { read, create, create_blocks, create_behind_block };
  static constexpr std::int64_t user_block = 4096;
  /// The modes that create a file replace an existing one.
  File(const std::string& path, Mode mode, const FileHints& hints = {});
  ~File();
  File(File&&) noexcept;

  // Structure.
  /// Creates a contiguous dataset, with space allocated and not filled, and missing groups of its
  /// path. Rank 0 is a scalar.
  void create_dataset(const std::string& name, DType dtype, const Shape& shape);
  /// Creates a dataset whose rows lie in other files. `sources` cover all rows; a scalar is one
  /// row. HDF5 reads rows of a missing file as zeros.
  void create_virtual(const std::string& name, DType dtype, const Shape& shape,
                      const std::vector<VirtualSource>& sources);
  /// Creates a group unless it exists.
  void create_group(const std::string& name);
  /// Creates a dataset of `count` unsigned 64-bit words.
  void create_words(const std::string& name, std::int64_t count);
  /// Writes an attribute of a group or dataset, or replaces it. Strings are UTF-8.
  void write_attribute(const std::string& object, const std::string& name,
                       const std::string& value);
  void write_attribute(const std::string& object, const std::string& name, std::int64_t value);

  // Data. The union of boxes (which do not overlap) is visited in row-major order of the dataset;
  // `data` holds that sequence contiguously. HDF5 converts between its dtype and the dataset's.
  void write(const std::string& dataset, const std::vector<Box>& boxes, const Tensor& data);
  void read(const std::string& dataset, const std::vector<Box>& boxes, const Tensor& data) const;
  /// Error where elements of a dataset are stored nowhere, so that HDF5 would read its fill value
  /// without an error: chunks that were never written, missing sources of a virtual dataset. Also
  /// where HDF5 has made a virtual dataset shorter because sources at its end are missing.
  /// `elements` names the elements in the error. Reads no data.
  void require_stored(const std::string& dataset, const char* elements) const;
  /// Error where a file that was read (sources included) is shorter than when it was opened.
  void check_lengths() const;

  /// All words of a dataset that create_words() made.
  void write_words(const std::string& dataset, std::span<const std::uint64_t> words);
  std::vector<std::uint64_t> read_words(const std::string& dataset) const;

  /// Whether there is a group or dataset of this full name.
  bool exists(const std::string& name) const;
  /// Whether there is a link of this full name, even one that leads nowhere.
  bool has_link(const std::string& name) const;
  bool is_group(const std::string& name) const;
  /// Number of dimensions, which may exceed Shape::max_rank.
  int rank(const std::string& dataset) const;
  Shape shape(const std::string& dataset) const;
  /// Element type. Error for a type that no DType names (strings, compounds, 32-bit unsigned, ...).
  DType dtype(const std::string& dataset) const;
  /// File offset of the first element of a contiguous dataset, in bytes; 0 where it has none.
  std::int64_t offset(const std::string& dataset) const;
  /// Location of a dataset's elements if this file stores them contiguously and in the bytes of
  /// memory. Nothing where only HDF5 can read them (chunks, filters, other files), or there are
  /// none.
  std::optional<PlainData> plain_data(const std::string& dataset) const;
  /// Sources of all rows of a virtual dataset, in order. Empty for any other dataset, and for a
  /// virtual one with mappings that create_virtual() does not make.
  std::vector<VirtualSource> virtual_sources(const std::string& dataset) const;
  /// Whether the elements are of an integer type, even one that no DType names.
  bool is_integer(const std::string& dataset) const;
  /// Full names of all datasets below `group`, sorted and each dataset once, including those behind
  /// soft and external links. A link that leads nowhere is listed too. A missing group has none.
  std::vector<std::string> datasets(const std::string& group) const;
  bool has_attribute(const std::string& object, const std::string& name) const;
  std::string string_attribute(const std::string& object, const std::string& name) const;
  std::int64_t integer_attribute(const std::string& object, const std::string& name) const;

  /// Flushes and closes; the destructor would lose errors. After an Error the file is still open:
  /// truncate it before the object is destroyed, so that HDF5 has space to close it.
  void close();

 private:
  friend class FileInMemory;
  struct Impl;
  explicit File(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The system's reason why a file cannot be opened for reading; empty where it can.
std::string why_unreadable(const std::string& path);
/// Offset of HDF5's signature: 0, or the size of the user block (512 bytes times a power of 2, at
/// most 1 MiB). -1: not an HDF5 file.
std::int64_t begin_of_hdf5(const std::string& path);

}  // namespace triax::hdf5
