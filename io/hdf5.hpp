#pragma once
// RAII handles over HDF5's C API; every call is checked. HDF5 is included only below io/.
//
// Errors name the file, the object and what HDF5 and the system said. HDF5 is one state machine a
// process, and Debian's is not thread-safe: calls are serialised here.
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/boxes.hpp"
#include "kernels/base/tensor.hpp"

namespace triax::hdf5 {

/// An open file. Shared by all ranks of `comm` (MPI-IO), or by one process with MPI_COMM_NULL or a
/// communicator of one rank (plain POSIX).
class File {
 public:
  /// create_blocks: every dataset begins at a multiple of 4096 bytes of the file, and shares its
  /// last 4096 with nothing, so that it can be read and written past HDF5.
  enum class Mode { read, create, create_blocks };
  /// Collective over `comm`. What creates replaces a file that is there.
  File(const std::string& path, Mode mode, MPI_Comm comm = MPI_COMM_NULL);
  ~File();
  File(File&&) noexcept;
  File& operator=(File&&) noexcept;

  // Collective over the file's ranks: structure.
  /// A contiguous dataset, space allocated and not filled; groups on the way are created. Rank 0 is
  /// a scalar.
  void create_dataset(const std::string& name, DType dtype, const Shape& shape);
  /// Attributes of a group or dataset; one of the same name is replaced. Strings are UTF-8.
  void write_attribute(const std::string& object, const std::string& name,
                       const std::string& value);
  void write_attribute(const std::string& object, const std::string& name, std::int64_t value);

  // Independent: data. The union of boxes is visited in row-major order of the dataset, `data` is
  // that sequence, contiguous (its dtype is converted to the dataset's by HDF5). Boxes do not
  // overlap.
  void write(const std::string& dataset, const std::vector<Box>& boxes, const Tensor& data);
  void read(const std::string& dataset, const std::vector<Box>& boxes, const Tensor& data) const;

  /// True when there is a group or dataset of this full name.
  bool exists(const std::string& name) const;
  /// Number of dimensions, which may be more than a Shape holds.
  int rank(const std::string& dataset) const;
  Shape shape(const std::string& dataset) const;
  /// The type as a DType. Error for one that is none of them (strings, compounds, 32-bit unsigned,
  /// ...).
  DType dtype(const std::string& dataset) const;
  /// Where in the file the elements of a contiguous dataset begin, in bytes; 0 where it has none.
  std::int64_t offset(const std::string& dataset) const;
  /// True for elements of any integer type, whether or not a DType names it.
  bool is_integer(const std::string& dataset) const;
  /// Full names of all datasets below `group`, sorted. A group that does not exist has none.
  std::vector<std::string> datasets(const std::string& group) const;
  bool has_attribute(const std::string& object, const std::string& name) const;
  std::string string_attribute(const std::string& object, const std::string& name) const;
  std::int64_t integer_attribute(const std::string& object, const std::string& name) const;

  /// Flushes and closes (collective); errors are thrown here rather than lost in the destructor.
  /// After an Error the file is still open: make room (truncate it) before it is destroyed, so that
  /// HDF5 can finish with it.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax::hdf5
