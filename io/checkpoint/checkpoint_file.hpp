#pragma once
// The layout of a checkpoint on disk (see io/README.md) and its atomic publication: a file has its
// final name only when it is whole and its data are on disk.
#include <mpi.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "io/checkpoint/checkpoint_integrity.hpp"
#include "io/checkpoint/checkpoint_parts.hpp"
#include "io/checkpoint/write/segment_writer.hpp"
#include "io/files/durable.hpp"
#include "io/hdf5/hdf5.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

struct CheckpointOptions {
  int files = 1;  // that the tensors' data lie in; more than 1: part files beside a master
  hdf5::FileHints hints = {};
  bool collective = false;  // ranks write together (segment_writer.hpp)
  Existing existing = Existing::replaced;
  /// Kept from file to file by who writes several, one after another; null: the writer's own.
  GatherMemory* gather = nullptr;
};

/// Writes one checkpoint. Constructor, create and publish are collective over `ranks`; write, flush
/// and fail are independent: each rank calls them as often as it likes between create and publish,
/// from any one thread, for they use neither MPI nor HDF5. With options.collective ranks wait for
/// each other in write, and nobody calls flush. An Error of the collective
/// functions is thrown on all ranks alike, and leaves published checkpoints untouched.
class CheckpointWriter {
 public:
  /// Opens "<path>.tmp"; the directory is created. Stale .tmp files of the same name are replaced.
  CheckpointWriter(const std::string& path, const Ranks& ranks,
                   const CheckpointOptions& options = {});
  ~CheckpointWriter();  // an unpublished file is removed
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  /// Writes the header, rank 0's texts in it, and makes the datasets. Error when the disk has no
  /// room for them. Rank 0 writes all that is not a tensor's data.
  void create(const CheckpointHeader& header, const std::vector<CheckpointTensor>& tensors);
  /// The part of a tensor in `boxes` (see hdf5::File::write), in the tensor's type. All ranks
  /// together write each element of each tensor once: a checksum counts what is written. A failure
  /// is kept and thrown by publish, on all ranks: one that left early would leave the others
  /// waiting. Data that stay until flush or publish has returned, or the writer is gone, need not
  /// be copied.
  void write(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data,
             Lifetime memory = Lifetime::call);
  /// Where in its file the first element of `boxes` lies: from memory at the same place of its
  /// page, much that stays is written without a copy.
  std::int64_t offset(const std::string& name, const std::vector<hdf5::Box>& boxes) const {
    return places_.offset(name, boxes);
  }
  /// Waits until what this rank wrote is on disk; publish does too. A failure is kept likewise.
  void flush();
  /// This rank could not get hold of what it was to write: kept and thrown by publish likewise.
  void fail(const std::string& why);
  /// Adds up the ranks' checksums, closes, syncs, renames, syncs the directory. A failure of any
  /// rank, here or in write or told by fail, is an Error on all, and the file is not published.
  /// Where only the last of these fails the file is there: returns, on all ranks, that it may be
  /// gone after a crash of the machine, and why; else nothing.
  std::string publish();

 private:
  void discard() noexcept;
  std::vector<std::uint64_t> write_structure(const std::vector<CheckpointTensor>& datasets);
  CheckpointPlaces places_of(const std::vector<CheckpointTensor>& datasets,
                             const std::vector<std::uint64_t>& offsets) const;
  void open_data();
  void write_master();

  std::string path_, temporary_;
  Ranks ranks_;
  CheckpointOptions options_;
  bool open_ = true;  // neither published nor discarded
  std::optional<CheckpointParts> parts_;
  CheckpointPlaces places_;              // from create on
  std::unique_ptr<SegmentWriter> data_;  // from create on
  CheckpointHeader header_;
  std::vector<CheckpointTensor> tensors_;
  TensorChecksums sums_;  // of what this rank wrote
  std::string failure_;   // the first that write met
};

/// Opens a published checkpoint. Error: the file or one of its parts is absent, not HDF5,
/// truncated, not a checkpoint of triax, of a newer format, or its attributes are damaged. The
/// tensors' data are checked by verify_checkpoint. By one thread.
class CheckpointReader {
 public:
  /// This process reads for itself.
  explicit CheckpointReader(const std::string& path);
  /// Collective. Rank 0 opens it and tells the others what is there, so that a thousand ranks do
  /// not look through one file; another opens it where HDF5 alone can read a tensor's data. Error
  /// on all ranks alike.
  CheckpointReader(const std::string& path, const Ranks& ranks);
  const CheckpointHeader& header() const { return header_; }
  const std::string& path() const { return path_; }
  /// Where the file lies: its parts are beside it, not beside a link to it.
  const std::string& real_path() const { return real_path_; }
  /// Bytes of the file and its parts.
  std::int64_t file_bytes() const;
  /// Every tensor of the file, sorted by name.
  const std::vector<CheckpointTensor>& tensors() const;
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  /// Error where there is none of that name.
  const CheckpointTensor& tensor(const std::string& name) const;
  Shape shape(const std::string& name) const { return tensor(name).shape; }
  void read(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data) const;

  /// False for files of format 1, which have no checksums.
  bool has_checksums() const { return has_checksums_; }
  /// Elements of a tensor that one checksum covers.
  std::int64_t checksum_block() const { return read_integrity_block(file(), path_); }
  /// The checksums of one of tensors(), as add_checksums makes them with the seed of its name, each
  /// of `block` elements: checksum_block().
  std::vector<std::uint64_t> checksums(const CheckpointTensor& tensor, std::int64_t block) const;
  /// Error where tensors() are not those that were written.
  void check_tensors() const { triax::check_tensors(file(), path_, tensors()); }

  /// The file itself, where tensors lie in it.
  const hdf5::File& file() const;

 private:
  void open();
  const CheckpointTensor* find(const std::string& name) const;  // null where there is none
  std::string packed() const;
  void unpack(const std::string& text);

  std::string path_;
  std::string real_path_;  // behind symbolic links
  CheckpointHeader header_;
  bool has_checksums_ = false;
  mutable std::optional<hdf5::File> file_;                        // once it is needed
  mutable std::optional<std::vector<CheckpointTensor>> tensors_;  // likewise
};

/// "<directory>/step-000050.h5"
std::string checkpoint_path(const std::string& directory, std::int64_t step);
/// The step in a checkpoint's file name, also in that of one that is not published or was set
/// aside; -1 for any other name.
std::int64_t checkpoint_step(const std::string& path);
enum class CheckpointState : std::uint8_t { published, unfinished, superseded };
struct CheckpointPath {
  std::string path;
  std::int64_t step;
  CheckpointState state;
};
/// Every file of a checkpoint in a directory, by step, then by name. An absent directory has none.
std::vector<CheckpointPath> find_checkpoints(const std::string& directory);
/// Published checkpoints in a directory, newest (highest step) first: files named
/// "step-<digits>.h5". An absent directory has none.
std::vector<std::string> list_checkpoints(const std::string& directory);
/// Removes all but the `keep` newest published checkpoints (0: keeps all), with their parts. The
/// newest one of at most `sound` steps stays too; returns it where it is not one of those `keep`,
/// else nothing.
std::string prune_checkpoints(const std::string& directory, int keep,
                              std::int64_t sound = std::numeric_limits<std::int64_t>::max());
/// Removes what a killed run left: "step-<digits>.h5.tmp", and directories of parts that belong to
/// no checkpoint. Returns their names, sorted. Not while another run writes there.
std::vector<std::string> remove_unfinished(const std::string& directory);
/// Renames the published checkpoints of steps after `step` to "<name>.superseded": a run that began
/// before them has taken another way, and must neither count nor resume them. Returns their former
/// names.
std::vector<std::string> set_aside_later(const std::string& directory, std::int64_t step);

}  // namespace triax
