#pragma once
// What the system says of a path that a user wrote. It throws nothing: a path that cannot be looked
// at is one of the job's errors.
#include <filesystem>
#include <string>

namespace triax {

struct FileLook {
  bool there = false;
  bool directory = false;
  /// "a pipe", "a device" or "a socket" where it is neither file nor directory; else empty.
  std::string special;
  /// "PATH: cannot read (Permission denied)" where the system does not say whether it is there;
  /// else empty.
  std::string problem;
};
FileLook look_at(const std::filesystem::path& path);

}  // namespace triax
