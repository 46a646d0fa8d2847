// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kind of file at a path that a user wrote. Nothing is thrown: a path that cannot be looked at
// is an error of the job.
#include <filesystem>
#include <string>

namespace triax {

struct FileLook {
  bool there = false;
  bool directory = false;
  /// "a pipe", "a device" or "a socket"; empty for a file or directory.
  std::string special;
  /// "PATH: cannot read (Permission denied)" if the system does not say whether it exists; else
  /// empty.
  std::string problem;
};
FileLook look_at(const std::filesystem::path& path);

}  // namespace triax
