#pragma once
// The layout of a checkpoint on disk (see io/README.md) and its atomic publication: a file has its final
// name only when it is whole and its data are on disk.
#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5.hpp"

namespace triax {

/// Everything but tensors.
struct CheckpointHeader {
  std::int64_t format_version = 1;
  std::int64_t step = 0;        // steps done
  std::int64_t tokens = 0;      // tokens trained on
  std::int64_t samples = 0;     // data position: samples consumed since the start
  std::string job;              // JSON as resolved
  std::string model;            // Hugging Face config.json
  std::string grid;             // JSON {"data":, "pipeline":, "tensor":} that wrote it
  std::string version;          // of triax
};

/// A tensor of the file: global, unpadded, unsharded.
struct CheckpointTensor {
  std::string name;             // "/model/transformer.wte.weight"
  DType dtype = DType::f32;
  Shape shape;
};

/// Writes one checkpoint. Constructor, create and publish are collective; write is independent.
class CheckpointWriter {
 public:
  /// Opens "<path>.tmp"; the directory is created. Stale .tmp files of the same name are replaced.
  CheckpointWriter(const std::string& path, MPI_Comm comm);
  ~CheckpointWriter();  // an unpublished file is removed
  void create(const CheckpointHeader& header, const std::vector<CheckpointTensor>& tensors);
  void write(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data);
  /// Closes, syncs, renames, syncs the directory. An Error on any rank is an Error on all, and the file is not published.
  void publish();

 private:
  std::string path_, temporary_;
  MPI_Comm comm_;
  std::optional<hdf5::File> file_;
};

/// Opens a published checkpoint; every rank reads for itself.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::string& path);
  const CheckpointHeader& header() const { return header_; }
  std::vector<CheckpointTensor> tensors() const;
  bool contains(const std::string& name) const;
  Shape shape(const std::string& name) const;
  void read(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data) const;

 private:
  hdf5::File file_;
  CheckpointHeader header_;
};

/// "<directory>/step-000050.h5"
std::string checkpoint_path(const std::string& directory, std::int64_t step);
/// Published checkpoints in a directory, newest (highest step) first. An absent directory has none.
std::vector<std::string> list_checkpoints(const std::string& directory);
/// Removes all but the `keep` newest published checkpoints (0: keeps all).
void prune_checkpoints(const std::string& directory, int keep);

}  // namespace triax
