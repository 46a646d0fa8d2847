// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/absolute_path.hpp"

#include <filesystem>

namespace triax {
namespace {
namespace fs = std::filesystem;

// The directory above `path`. If `path` does not exist, the names alone decide.
fs::path above(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  const bool plain = fs::status_known(status) && !fs::is_symlink(status);
  if (plain && path.filename() != "..") return path.parent_path();
  const fs::path real = fs::canonical(path, error);
  return error ? path / ".." : real.parent_path();
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  if (error) return path;  // the working directory was deleted
  fs::path shortened = whole.root_path();
  for (const fs::path& part : whole.relative_path()) {
    if (part == "..")
      shortened = above(shortened);
    else if (!part.empty() && part != ".")
      shortened /= part;
  }
  return shortened.string();
}

}  // namespace triax
