#pragma once
// The layout of a checkpoint on disk (see io/README.md) and its atomic publication: a file has its
// final name only when it is whole and its data are on disk.
#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/agree.hpp"
#include "io/hdf5.hpp"

namespace triax {

/// Everything but tensors.
struct CheckpointHeader {
  std::int64_t format_version = 1;  // of the layout
  std::int64_t step = 0;            // steps done
  std::int64_t tokens = 0;          // tokens trained on
  std::int64_t samples = 0;         // data position: samples consumed since the start
  std::string job;                  // JSON as resolved
  std::string model;                // Hugging Face config.json
  std::string grid;                 // JSON {"data":, "pipeline":, "tensor":} that wrote it
  std::string version;              // of triax
  std::string loss_scale;           // JSON; empty: none (no fp16)
};

/// A tensor of the file: global, unpadded, unsharded.
struct CheckpointTensor {
  std::string name;  // "/model/transformer.wte.weight"
  DType dtype = DType::f32;
  Shape shape;
};

/// Writes one checkpoint. Constructor, create, publish and destructor are collective; write is
/// independent. An Error of the collective functions is thrown on all ranks alike, and leaves
/// published checkpoints untouched.
class CheckpointWriter {
 public:
  /// Opens "<path>.tmp"; the directory is created. Stale .tmp files of the same name are replaced.
  CheckpointWriter(const std::string& path, const Ranks& ranks);
  ~CheckpointWriter();  // an unpublished file is removed
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  /// Writes the header and makes the datasets. Error when the disk has no room for them.
  void create(const CheckpointHeader& header, const std::vector<CheckpointTensor>& tensors);
  /// The part of a tensor in `boxes` (see hdf5::File::write). A failure is kept and thrown by
  /// publish, on all ranks: one that left early would leave the others waiting.
  void write(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data);
  /// This rank could not get hold of what it was to write: kept and thrown by publish likewise.
  void fail(const std::string& why);
  /// Closes, syncs, renames, syncs the directory. A failure of any rank, here or in write or told
  /// by fail, is an Error on all, and the file is not published.
  void publish();

 private:
  void discard() noexcept;

  std::string path_, temporary_;
  Ranks ranks_;
  std::optional<hdf5::File> file_;
  std::string failure_;  // the first that write met
};

/// Opens a published checkpoint; every rank reads for itself. Error: the file is absent, not HDF5,
/// truncated, not a checkpoint of triax, or of a newer format.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::string& path);
  const CheckpointHeader& header() const { return header_; }
  /// Every tensor of the file, sorted by name.
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
/// Published checkpoints in a directory, newest (highest step) first: files named
/// "step-<digits>.h5". An absent directory has none.
std::vector<std::string> list_checkpoints(const std::string& directory);
/// Removes all but the `keep` newest published checkpoints (0: keeps all).
void prune_checkpoints(const std::string& directory, int keep);
/// Removes "step-<digits>.h5.tmp", which a killed run left. Returns their names, sorted. Not while
/// another run writes there.
std::vector<std::string> remove_unfinished(const std::string& directory);
/// Renames the published checkpoints of steps after `step` to "<name>.superseded": a run that began
/// before them has taken another way, and must neither count nor resume them. Returns their former
/// names.
std::vector<std::string> set_aside_later(const std::string& directory, std::int64_t step);

}  // namespace triax
