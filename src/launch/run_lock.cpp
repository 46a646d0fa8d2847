// SPDX-License-Identifier: Apache-2.0
#include "src/launch/run_lock.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "src/launch/output_target.hpp"
#include "src/launch/own_checkpoints.hpp"

namespace triax {

// Writes a test file: permission bits alone do not show whether writing works (root, read-only
// mounts, full disks).
void check_writable(const std::string& directory, const char* key) {
  const std::string probe = directory + "/.triax-write-test";
  std::error_code error;
  std::filesystem::path link(directory);
  if (!link.has_filename()) link = link.parent_path();  // the slash at the end follows a link
  if (std::filesystem::is_symlink(link, error) && !std::filesystem::exists(link, error))
    throw UsageError(
        fmt::format("{}: {} is a link to nothing", key, directory),
        fmt::format("it leads to {}", std::filesystem::read_symlink(link, error).string()),
        fmt::format("Create that directory, or set {} to another one", key));
  std::filesystem::create_directories(directory, error);
  errno = 0;
  std::ofstream file(probe);
  file << key;
  file.close();
  if (!file)
    throw Error(fmt::format("cannot write in {}", directory),
                error ? error.message() : std::strerror(errno),
                fmt::format("Set {} to a directory that can be written", key));
  std::filesystem::remove(probe, error);
}

namespace {

// Checks that the run's own files can be written in the place of earlier ones.
void check_replaceable(const std::string& directory) {
  for (const char* name : {"job.json", "metrics.jsonl"}) {
    const std::string path = (std::filesystem::path(directory) / name).string();
    std::error_code absent;
    if (std::filesystem::is_directory(path, absent))
      throw UsageError(path + " is a directory", "the run writes a file of this name",
                       "Remove it, or set run.directory to another directory");
  }
}

}  // namespace

// A locked directory of this run. A directory that this run created and wrote nothing to (a run
// that was refused) is removed with the object.
class RunLock::Place {
 public:
  Place(const std::string& directory, const char* key, std::chrono::milliseconds patience)
      : directory_(directory) {
    try {
      // The previous holder may have removed the whole directory when it ended.
      do make_and_lock(key, patience);
      while (!lock_->refusal().empty() && !is_there());
    } catch (...) {
      remove_made();
      throw;
    }
    if (const std::string& refusal = lock_->refusal(); !refusal.empty())
      spdlog::warn("{}: two runs at once in {} cannot be detected", refusal, directory);
    if (const std::string& other = lock_->left_by(); !other.empty())
      spdlog::warn("{}/.lock names {}, which was killed or still runs: make sure that it has ended",
                   directory, other);
  }
  ~Place() {
    if (!made_.empty() && has_lock_alone()) lock_->leave_nothing();
    lock_.reset();
    remove_made();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  void make_and_lock(const char* key, std::chrono::milliseconds patience) {
    made_ = directories_to_make(directory_);
    check_writable(directory_, key);
    lock_.emplace(directory_,
                  fmt::format("Wait for it or stop it, or set {} to another directory", key),
                  patience);
  }
  bool is_there() const {
    std::error_code absent;
    return std::filesystem::exists(directory_, absent);
  }
  bool has_lock_alone() const {
    std::error_code error;
    const std::filesystem::directory_iterator first(directory_, error);
    return !error && std::all_of(begin(first), end(first), [](const auto& entry) {
      return entry.path().filename() == ".lock";
    });
  }
  void remove_made() const {
    std::error_code not_empty;
    for (const std::string& directory : made_) std::filesystem::remove(directory, not_empty);
  }

  std::string directory_;
  std::vector<std::string> made_;  // the innermost first
  std::optional<DirectoryLock> lock_;
};

RunLock::RunLock(const Config& config, std::chrono::milliseconds patience) : patience_(patience) {
  const std::string& directory = config.run.directory;
  const std::string& checkpoints = config.checkpoint.directory;
  try {
    take(directory, "run.directory");
    check_replaceable(directory);
    if (!owns_checkpoints(config)) return;
    std::error_code absent;  // then they are not the same
    if (!std::filesystem::equivalent(directory, checkpoints, absent))
      take(checkpoints, "checkpoint.directory");
  } catch (...) {
    release();
    throw;
  }
  const std::vector<std::string> removed = remove_unfinished(checkpoints);
  if (!removed.empty())
    spdlog::info("removed {} unfinished checkpoint file(s) of a killed run: {}", removed.size(),
                 fmt::join(removed, ", "));
}

RunLock::~RunLock() {
  release();
}

// checkpoint.directory first: it may lie in run.directory.
void RunLock::release() {
  while (!places_.empty()) places_.pop_back();
}

void RunLock::take(const std::string& directory, const char* key) {
  places_.push_back(std::make_unique<Place>(directory, key, patience_));
}

}  // namespace triax
