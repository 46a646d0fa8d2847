// SPDX-License-Identifier: Apache-2.0
#include "src/launch/shared_directories.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/host_name.hpp"
#include "src/comm/watchdog/stall_exchange.hpp"
#include "src/config/source/absolute_path.hpp"
#include "src/launch/own_checkpoints.hpp"

namespace triax {
namespace {

// Prefix of the files of a run that starts, which holds the lock of the directory.
constexpr const char* start_prefix = ".triax-start-";
// Prefix of the files of triax doctor, which holds no lock.
constexpr const char* look_prefix = ".triax-look-";

// A file with a unique name, removed with the object.
class Mark {
 public:
  Mark(const std::string& directory, const char* prefix)
      : path_(fmt::format("{}/{}{}-{}", directory, prefix, host_name(), getpid())) {
    if (!std::ofstream(path_))
      throw Error("cannot write " + path_, std::strerror(errno),
                  "Set run.directory to one that can be written");
  }
  ~Mark() {
    std::error_code gone;
    std::filesystem::remove(path_, gone);
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  std::string name() const { return std::filesystem::path(path_).filename(); }

 private:
  std::string path_;
};

// Removes the marks of runs that were killed at their start. No live run has one: this run holds
// the lock.
void remove_left_marks(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(directory, error), end; file != end && !error;
       file.increment(error))
    if (file->path().filename().string().starts_with(start_prefix))
      std::filesystem::remove(file->path(), error);
}

void require_listed(const std::string& directory, const std::string& name, const char* key,
                    double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  while (!is_listed(directory + '/' + name)) {
    if (std::chrono::duration<double>(Clock::now() - begin).count() >= seconds) {
      throw UsageError(
          fmt::format("{} is not the same directory here, on {}, as on rank 0", key, host_name()),
          fmt::format("{}, which rank 0 wrote there, was not found in {} within {:.3g} s", name,
                      absolute_path(directory), seconds),
          fmt::format("Set {} to a directory of a file system that all nodes share, or start all "
                      "ranks in the same one",
                      key));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

// The first rank of each node waits `patience` seconds; the other ranks then see the file soon.
void check_shared(const ProcessGrid& grid, const std::string& directory, const char* key,
                  double patience) {
  std::optional<Mark> mark;
  agreed(grid, [&] {
    if (grid.rank() != 0) return;
    remove_left_marks(directory);
    mark.emplace(directory, start_prefix);
  });
  const std::string name = broadcast_text(grid, mark ? mark->name() : "");
  constexpr double soon = 1.0;
  for (const bool first : {true, false})
    agreed(grid, [&] {
      if (first == (grid.node_rank() == 0))
        require_listed(directory, name, key, first ? patience : soon);
    });
}

}  // namespace

double usual_directory_patience(const RunConfig& run) {
  return std::min(longest_directory_patience, 0.5 * run.collective_timeout);
}

void check_directories_shared(const ProcessGrid& grid, const Config& config, double patience) {
  if (grid.size() == 1) return;
  check_shared(grid, config.run.directory, "run.directory", patience);
  const std::string own = grid.rank() == 0 && owns_checkpoints(config) ? "yes" : "";
  if (!broadcast_text(grid, own).empty())
    check_shared(grid, config.checkpoint.directory, "checkpoint.directory", patience);
}

bool sees_file_of_rank0(const ProcessGrid& grid, const std::string& directory, double patience) {
  std::optional<Mark> mark;
  agreed(grid, [&] {
    if (grid.rank() == 0) mark.emplace(directory, look_prefix);
  });
  const std::string name = broadcast_text(grid, mark ? mark->name() : "");
  bool seen = true;
  try {
    require_listed(directory, name, "", patience);
  } catch (const UsageError&) {
    seen = false;
  }
  agree(grid, {});  // a barrier: rank 0 keeps the file until all ranks have looked
  return seen;
}

}  // namespace triax
