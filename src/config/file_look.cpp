#include "src/config/file_look.hpp"

namespace triax {
namespace fs = std::filesystem;

FileLook look_at(const fs::path& path) {
  std::error_code why;
  const fs::file_status status = fs::status(path, why);
  if (!fs::status_known(status))
    return {false, false, path.string() + ": cannot read (" + why.message() + ")"};
  return {fs::exists(status), fs::is_directory(status), {}};
}

}  // namespace triax
