#pragma once
// RAII handles over HDF5's C API; every call is checked. HDF5 is included only below io/.
#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax::hdf5 {

/// A box of a dataset: offset and extent, as many dimensions as the dataset.
struct Box {
  std::array<std::int64_t, Shape::max_rank> offset{};
  Shape extent;
};

/// An open file. Shared by all ranks of `comm` (MPI-IO), or by one process with MPI_COMM_NULL (plain POSIX).
class File {
 public:
  enum class Mode { read, create };
  File(const std::string& path, Mode mode, MPI_Comm comm = MPI_COMM_NULL);
  ~File();
  File(File&&) noexcept;
  File& operator=(File&&) noexcept;

  // Collective over the file's ranks: structure.
  /// A contiguous dataset, space allocated and not filled; groups on the way are created.
  void create_dataset(const std::string& name, DType dtype, const Shape& shape);
  void write_attribute(const std::string& object, const std::string& name, const std::string& value);
  void write_attribute(const std::string& object, const std::string& name, std::int64_t value);
  void write_attribute(const std::string& object, const std::string& name, double value);

  // Independent: data. The union of boxes is visited in row-major order of the dataset, `data` is that
  // sequence, contiguous (its dtype is converted to the dataset's by HDF5).
  void write(const std::string& dataset, const std::vector<Box>& boxes, const Tensor& data);
  void read(const std::string& dataset, const std::vector<Box>& boxes, const Tensor& data) const;

  bool exists(const std::string& name) const;
  Shape shape(const std::string& dataset) const;
  DType dtype(const std::string& dataset) const;
  /// Full names of all datasets below `group`, sorted.
  std::vector<std::string> datasets(const std::string& group) const;
  bool has_attribute(const std::string& object, const std::string& name) const;
  std::string string_attribute(const std::string& object, const std::string& name) const;
  std::int64_t integer_attribute(const std::string& object, const std::string& name) const;
  double real_attribute(const std::string& object, const std::string& name) const;

  /// Flushes and closes (collective); errors are thrown here rather than lost in the destructor.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax::hdf5
