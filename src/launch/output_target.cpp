// SPDX-License-Identifier: Apache-2.0
#include "src/launch/output_target.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {

namespace fs = std::filesystem;

std::vector<std::string> directories_to_make(const std::string& directory) {
  std::vector<std::string> absent;
  std::error_code error;
  for (fs::path at = directory; !at.empty() && !fs::exists(fs::symlink_status(at, error));
       at = at.parent_path())
    absent.push_back(at.string());
  return absent;
}

OutputTarget::OutputTarget(const std::string& path, Kind kind) {
  if (path.empty()) throw UsageError("the name of the output is empty", {}, "Give a name");
  const bool file = kind == Kind::file;
  std::error_code absent;
  if (file && (fs::is_directory(path, absent) || !fs::path(path).has_filename()))
    throw UsageError(fmt::format("{} is a directory", path), "a file is to be written",
                     "Give the name of a file");
  if (file && fs::exists(path, absent) && !fs::is_regular_file(path, absent))
    throw UsageError(fmt::format("{} is a pipe or a device", path),
                     "only a regular file can be replaced", "Give the name of a file");
  const std::string directory = file ? directory_of(path) : path;
  try {
    make(directory);
    if (::access(directory.c_str(), R_OK | W_OK | X_OK) != 0)
      throw Error("cannot read and write in " + directory, std::strerror(errno),
                  "Give another directory, or check its permissions");
    lock_.emplace(file ? path + ".lock" : (fs::path(path) / ".lock").string(),
                  fmt::format("another command writes {}", path),
                  "Wait for it, or give another name", std::chrono::milliseconds(0),
                  FileLock::Leaves::nothing);
  } catch (...) {
    for (const std::string& made : made_) fs::remove(made, absent);
    throw;
  }
  if (lock_->refusal().empty() && file)
    fs::remove(path + ".tmp", absent);  // left by a killed command
  if (const std::string& refusal = lock_->refusal(); !refusal.empty())
    spdlog::warn("{}: a second command that writes {} cannot be detected", refusal, path);
}

OutputTarget::~OutputTarget() {
  lock_.reset();
  std::error_code not_empty;
  for (const std::string& directory : made_) fs::remove(directory, not_empty);
}

void OutputTarget::make(const std::string& directory) {
  std::error_code error;
  const fs::file_status there = fs::status(directory, error);
  if (fs::exists(there) && !fs::is_directory(there))
    throw UsageError(directory + " is not a directory", {}, "Give another directory");
  made_ = directories_to_make(directory);  // perhaps also of another command: removed only if empty
  if (fs::is_symlink(directory, error) && !fs::exists(directory, error))
    throw UsageError(directory + " is a link to nothing", {}, "Give another directory");
  fs::create_directories(directory, error);
  if (error)
    throw Error("cannot create the directory " + directory, error.message(),
                "Give another directory");
}

}  // namespace triax
