// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/file_look.hpp"

namespace triax {
namespace fs = std::filesystem;

namespace {
std::string special_kind(const fs::file_status& status) {
  if (fs::is_fifo(status)) return "a pipe";
  if (fs::is_socket(status)) return "a socket";
  return fs::is_other(status) ? "a device" : "";
}
}  // namespace

FileLook look_at(const fs::path& path) {
  std::error_code why;
  const fs::file_status status = fs::status(path, why);
  if (!fs::status_known(status))
    return {false, false, {}, path.string() + ": cannot read (" + why.message() + ")"};
  return {fs::exists(status), fs::is_directory(status), special_kind(status), {}};
}

}  // namespace triax
