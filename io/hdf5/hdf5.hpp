#pragma once
// RAII handles over HDF5's C API; every call is checked. HDF5 is included only below io/.
//
// Errors name the file, the object and what HDF5 and the system said. HDF5 is one state machine a
// process, and Debian's is not thread-safe: calls are serialised here.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/boxes.hpp"
#include "kernels/base/tensor.hpp"

namespace triax::hdf5 {

/// How a new file is to lie on a parallel file system; 0: as the system does.
struct FileHints {
  int striping_factor = 0;         // storage targets that it is spread over (MPI-IO's hint)
  std::int64_t striping_unit = 0;  // consecutive bytes on one target (MPI-IO's hint)
  std::int64_t alignment = 4096;   // bytes; datasets of 64 KiB and more begin at a multiple of it
};

/// Where rows [begin, end) of a virtual dataset come from: a dataset of the same name in a file,
/// which is named relative to the directory of the virtual one's.
struct VirtualSource {
  std::string file;
  std::int64_t begin, end;
};

/// The elements of a dataset that lie in a file as memory has them.
struct PlainData {
  DType dtype;
  std::int64_t elements;
  std::int64_t offset;  // of the first one in the file, in bytes
};

/// An open file of one process.
class File {
 public:
  /// create_blocks: every dataset begins at a multiple of 4096 bytes of the file, and shares its
  /// last 4096 with nothing, so that it can be read and written past HDF5. create_behind_block: the
  /// first user_block bytes are left to the caller.
  enum class Mode { read, create, create_blocks, create_behind_block };
  static constexpr std::int64_t user_block = 4096;
  /// What creates replaces a file that is there.
  File(const std::string& path, Mode mode, const FileHints& hints = {});
  ~File();
  File(File&&) noexcept;

  // Structure.
  /// A contiguous dataset, space allocated and not filled; groups on the way are created. Rank 0 is
  /// a scalar.
  void create_dataset(const std::string& name, DType dtype, const Shape& shape);
  /// A dataset whose rows lie in other files. They cover it; a scalar is one row. Rows whose file
  /// is not there read as zeros.
  void create_virtual(const std::string& name, DType dtype, const Shape& shape,
                      const std::vector<VirtualSource>& sources);
  /// A group, where there is none of this name yet.
  void create_group(const std::string& name);
  /// A dataset of so many unsigned 64-bit words.
  void create_words(const std::string& name, std::int64_t count);
  /// Attributes of a group or dataset; one of the same name is replaced. Strings are UTF-8.
  void write_attribute(const std::string& object, const std::string& name,
                       const std::string& value);
  void write_attribute(const std::string& object, const std::string& name, std::int64_t value);

  // Data. The union of boxes is visited in row-major order of the dataset, `data` is
  // that sequence, contiguous (its dtype is converted to the dataset's by HDF5). Boxes do not
  // overlap.
  void write(const std::string& dataset, const std::vector<Box>& boxes, const Tensor& data);
  void read(const std::string& dataset, const std::vector<Box>& boxes, const Tensor& data) const;
  /// Error where elements of a dataset are in no file, for which HDF5 reads its fill value without
  /// a word: chunks that were never written, sources of a virtual dataset that are not there.
  /// `elements` says what they are. Reads no data.
  void require_stored(const std::string& dataset, const char* elements) const;
  /// Error where a file that was read, of a source too, is shorter than when it was opened.
  void check_lengths() const;

  /// All words of a dataset made by create_words.
  void write_words(const std::string& dataset, std::span<const std::uint64_t> words);
  std::vector<std::uint64_t> read_words(const std::string& dataset) const;

  /// True when there is a group or dataset of this full name.
  bool exists(const std::string& name) const;
  /// True when there is a link of this full name, wherever it leads.
  bool has_link(const std::string& name) const;
  bool is_group(const std::string& name) const;
  /// Number of dimensions, which may be more than a Shape holds.
  int rank(const std::string& dataset) const;
  Shape shape(const std::string& dataset) const;
  /// The type as a DType. Error for one that is none of them (strings, compounds, 32-bit unsigned,
  /// ...).
  DType dtype(const std::string& dataset) const;
  /// Where in the file the elements of a contiguous dataset begin, in bytes; 0 where it has none.
  std::int64_t offset(const std::string& dataset) const;
  /// What it has of a dataset's elements side by side and as memory has them; nothing where it has
  /// them otherwise (chunks, filters, other files), so that HDF5 alone can read them, or has none.
  std::optional<PlainData> plain_data(const std::string& dataset) const;
  /// Where the rows of a virtual dataset lie, in order and all of them; empty for any other
  /// dataset, and for a virtual one that create_virtual does not make.
  std::vector<VirtualSource> virtual_sources(const std::string& dataset) const;
  /// True for elements of any integer type, whether or not a DType names it.
  bool is_integer(const std::string& dataset) const;
  /// Full names of all datasets below `group`, sorted, those behind soft and external links too,
  /// and each dataset once. A link that leads nowhere is a name here. A group that does not exist
  /// has none.
  std::vector<std::string> datasets(const std::string& group) const;
  bool has_attribute(const std::string& object, const std::string& name) const;
  std::string string_attribute(const std::string& object, const std::string& name) const;
  std::int64_t integer_attribute(const std::string& object, const std::string& name) const;

  /// Flushes and closes; errors are thrown here rather than lost in the destructor.
  /// After an Error the file is still open: make room (truncate it) before it is destroyed, so that
  /// HDF5 can finish with it.
  void close();

 private:
  friend class FileInMemory;
  struct Impl;
  explicit File(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Why a file cannot be opened to be read, in the system's words; empty where it can.
std::string why_unreadable(const std::string& path);
/// Where HDF5's signature is: at byte 0, or behind a user block of 512 bytes or a larger power of
/// 2. -1: nowhere, so that the file is none of HDF5.
std::int64_t begin_of_hdf5(const std::string& path);

}  // namespace triax::hdf5
