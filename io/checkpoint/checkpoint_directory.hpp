// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checkpoint files of a directory: their names, and which of them stay.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace triax {

/// "<directory>/step-000050.h5"
std::string checkpoint_path(const std::string& directory, std::int64_t step);
/// Whether checkpoint.striping_factor and striping_unit apply to files of `directory`: MPI-IO sets
/// the stripes, and takes no path with a colon (hdf5::mpi_io_takes).
bool takes_stripes(const std::string& directory);
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
/// newest, else "". The one of `best` steps stays, too.
std::string prune_checkpoints(const std::string& directory, int keep,
                              std::int64_t sound = std::numeric_limits<std::int64_t>::max(),
                              std::int64_t best = -1);
/// Removes the remains of a killed run: "step-<digits>.h5.tmp", and part directories that belong to
/// no checkpoint. Returns their paths, sorted. No other run may write there meanwhile.
std::vector<std::string> remove_unfinished(const std::string& directory);
/// Renames the published checkpoints of steps after `step` to "<name>.superseded": a run that
/// resumes at `step` repeats their steps and must neither count nor resume them. Returns their
/// former paths.
std::vector<std::string> set_aside_later(const std::string& directory, std::int64_t step);

}  // namespace triax
