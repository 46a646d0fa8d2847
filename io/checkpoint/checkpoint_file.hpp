#pragma once
// Writes, reads and manages checkpoints (format: io/checkpoint/README.md). HDF5 makes only the
// structure of a file, on rank 0; SegmentWriters write the data at the offsets in CheckpointPlaces.
// A file gets its final name only when it is whole and its data are on disk.
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
  int files = 1;  // number of files for the tensors' data; > 1: part files beside a master
  hdf5::FileHints hints = {};
  bool collective = false;  // collective_writer() (segment_writer.hpp)
  Existing existing = Existing::replaced;
  /// Gather memory that the caller keeps from file to file; null: the writer has its own.
  GatherMemory* gather = nullptr;
};

/// Writes one checkpoint. Constructor, create() and publish() are collective over `ranks`: they
/// throw an Error on all ranks alike, which leaves published checkpoints untouched. write(),
/// flush() and fail() are independent: between create() and publish() each rank calls them any
/// number of times, from any one thread, as they use neither MPI nor HDF5. With options.collective,
/// ranks wait for each other in write(), and flush() must not be called.
class CheckpointWriter {
 public:
  /// Creates "<path>.tmp", and its directory if missing. Replaces a stale .tmp file of the same
  /// name.
  CheckpointWriter(const std::string& path, const Ranks& ranks,
                   const CheckpointOptions& options = {});
  ~CheckpointWriter();  // removes an unpublished file
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  /// Writes the header, with the texts of rank 0, and creates the datasets. Error where disk space
  /// for them is missing. Rank 0 writes everything except tensor data.
  void create(const CheckpointHeader& header, const std::vector<CheckpointTensor>& tensors);
  /// Writes the elements of a tensor in `boxes` (see hdf5::File::write), in the tensor's type. All
  /// ranks together must write each element exactly once, as checksums sum what is written. A
  /// failure is kept, and publish() throws it on all ranks: a rank that left early would hang the
  /// others. `memory`: with Lifetime::finish the data stay unchanged until flush() or publish() has
  /// returned, or the writer is destroyed, and need not be copied.
  void write(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data,
             Lifetime memory = Lifetime::call);
  /// File offset of the first element of `boxes`. Long data with Lifetime::finish are written
  /// without a copy from memory whose address equals this offset modulo the page (4096 bytes).
  std::int64_t offset(const std::string& name, const std::vector<hdf5::Box>& boxes) const {
    return places_.offset(name, boxes);
  }
  /// Waits until this rank's data are on disk, as publish() does. A failure is kept for publish().
  void flush();
  /// Records that this rank cannot provide its data: publish() throws `why` on all ranks.
  void fail(const std::string& why);
  /// Sums the ranks' checksums, closes, syncs and renames the file, then syncs its directory. A
  /// failure of any rank, here, in write() or by fail(), is an Error on all ranks, and the file is
  /// not published. Returns "" or, where only the directory's sync fails, a warning on all ranks
  /// that a crash of the machine may lose the published file.
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
  bool open_ = true;  // false once published or discarded
  std::optional<CheckpointParts> parts_;
  CheckpointPlaces places_;              // from create on
  std::unique_ptr<SegmentWriter> data_;  // from create on
  CheckpointHeader header_;
  std::vector<CheckpointTensor> tensors_;
  TensorChecksums sums_;  // of this rank's data
  std::string failure_;   // first failure of this rank
};

/// Opens a published checkpoint. Error where the file or one of its parts is absent, not HDF5,
/// truncated, not a checkpoint of triax, of a newer format, or has damaged attributes. Tensor data
/// are not checked here but by verify_checkpoint(). Used by one thread.
class CheckpointReader {
 public:
  /// Opens the file for this process alone.
  explicit CheckpointReader(const std::string& path);
  /// Collective. Rank 0 opens the file and broadcasts its header and list of tensors, so that a
  /// thousand ranks do not scan one file. Other ranks open it only where HDF5 is needed to read a
  /// tensor's data. Error on all ranks alike.
  CheckpointReader(const std::string& path, const Ranks& ranks);
  const CheckpointHeader& header() const { return header_; }
  const std::string& path() const { return path_; }
  /// Path behind symbolic links: the parts are beside the file itself, not beside a link to it.
  const std::string& real_path() const { return real_path_; }
  /// Bytes of the file and its part files.
  std::int64_t file_bytes() const;
  /// Every tensor of the file, sorted by name.
  const std::vector<CheckpointTensor>& tensors() const;
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  /// Error where there is no tensor of that name.
  const CheckpointTensor& tensor(const std::string& name) const;
  Shape shape(const std::string& name) const { return tensor(name).shape; }
  void read(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data) const;

  /// False for files of format 1, which have no checksums.
  bool has_checksums() const { return has_checksums_; }
  /// Elements per checksum chunk.
  std::int64_t checksum_block() const { return read_integrity_block(file(), path_); }
  /// The checksums of one of tensors(), one per chunk of `block` = checksum_block() elements, as
  /// add_checksums() makes them with the seed of its name.
  std::vector<std::uint64_t> checksums(const CheckpointTensor& tensor, std::int64_t block) const;
  /// Error where names, types or shapes of tensors() differ from those written.
  void check_tensors() const { triax::check_tensors(file(), path_, tensors()); }

  /// The HDF5 file, opened on first use.
  const hdf5::File& file() const;

 private:
  void open();
  const CheckpointTensor* find(const std::string& name) const;  // null: no such tensor
  std::string packed() const;
  void unpack(const std::string& text);

  std::string path_;
  std::string real_path_;  // with symbolic links resolved
  CheckpointHeader header_;
  bool has_checksums_ = false;
  mutable std::optional<hdf5::File> file_;                        // opened on first use
  mutable std::optional<std::vector<CheckpointTensor>> tensors_;  // listed on first use
};

/// "<directory>/step-000050.h5"
std::string checkpoint_path(const std::string& directory, std::int64_t step);
/// Step in a checkpoint's file name, also of an unpublished or superseded one; -1 for any other
/// name.
std::int64_t checkpoint_step(const std::string& path);
enum class CheckpointState : std::uint8_t { published, unfinished, superseded };
struct CheckpointPath {
  std::string path;
  std::int64_t step;
  CheckpointState state;
};
/// All checkpoint files of a directory, by step, then by name. An absent directory has none.
std::vector<CheckpointPath> find_checkpoints(const std::string& directory);
/// Published checkpoints in a directory, newest (highest step) first: files named
/// "step-<digits>.h5". An absent directory has none.
std::vector<std::string> list_checkpoints(const std::string& directory);
/// Removes all but the `keep` newest published checkpoints (0: keeps all), with their parts. The
/// newest one of at most `sound` steps stays too; returns its path if it is not among the `keep`
/// newest, else "".
std::string prune_checkpoints(const std::string& directory, int keep,
                              std::int64_t sound = std::numeric_limits<std::int64_t>::max());
/// Removes the remains of a killed run: "step-<digits>.h5.tmp", and part directories that belong to
/// no checkpoint. Returns their paths, sorted. No other run may write there meanwhile.
std::vector<std::string> remove_unfinished(const std::string& directory);
/// Renames the published checkpoints of steps after `step` to "<name>.superseded": a run that
/// resumes at `step` repeats their steps and must neither count nor resume them. Returns their
/// former paths.
std::vector<std::string> set_aside_later(const std::string& directory, std::int64_t step);

}  // namespace triax
