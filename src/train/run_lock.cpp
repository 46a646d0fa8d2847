#include "src/train/run_lock.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "io/checkpoint_file.hpp"
#include "src/train/run_directory.hpp"

namespace triax {

// A file that appears and goes again: permission bits alone do not tell (root, read-only mounts,
// full disks).
void check_writable(const std::string& directory, const char* key) {
  const std::string probe = directory + "/.triax-write-test";
  std::error_code error;
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

RunLock::RunLock(const Config& config, std::chrono::milliseconds patience) : patience_(patience) {
  const std::string& directory = config.run.directory;
  const std::string& checkpoints = config.checkpoint.directory;
  take(directory, "run.directory");
  if (!owns_checkpoints(config)) return;
  std::error_code absent;  // then they are not the same
  if (!std::filesystem::equivalent(directory, checkpoints, absent))
    take(checkpoints, "checkpoint.directory");
  const std::vector<std::string> removed = remove_unfinished(checkpoints);
  if (!removed.empty())
    spdlog::info("removed {} unfinished checkpoint file(s) of a run that was stopped: {}",
                 removed.size(), fmt::join(removed, ", "));
}

void RunLock::take(const std::string& directory, const char* key) {
  check_writable(directory, key);
  locks_.push_back(std::make_unique<DirectoryLock>(
      directory, fmt::format("Wait for it or stop it, or set {} to another directory", key),
      patience_));
  if (const std::string& refusal = locks_.back()->refusal(); !refusal.empty())
    spdlog::warn("{}: two runs at once in {} would not be noticed", refusal, directory);
}

}  // namespace triax
