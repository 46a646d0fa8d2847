#include "src/train/run_lock.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <filesystem>

#include "io/checkpoint_file.hpp"
#include "src/train/run_directory.hpp"

namespace triax {

RunLock::RunLock(const Config& config) {
  const std::string& directory = config.run.directory;
  const std::string& checkpoints = config.checkpoint.directory;
  take(directory, "run.directory");
  if (!writes_checkpoints(config.checkpoint)) return;
  check_writable(checkpoints, "checkpoint.directory");
  if (!std::filesystem::equivalent(directory, checkpoints))
    take(checkpoints, "checkpoint.directory");
  const std::vector<std::string> removed = remove_unfinished(checkpoints);
  if (!removed.empty())
    spdlog::info("removed {} unfinished checkpoint file(s) of a run that was stopped: {}",
                 removed.size(), fmt::join(removed, ", "));
}

void RunLock::take(const std::string& directory, const char* key) {
  check_writable(directory, key);
  locks_.push_back(std::make_unique<DirectoryLock>(
      directory, fmt::format("Wait for it or stop it, or set {} to another directory", key)));
  if (const std::string& refusal = locks_.back()->refusal(); !refusal.empty())
    spdlog::warn("{}: two runs at once in {} would not be noticed", refusal, directory);
}

}  // namespace triax
