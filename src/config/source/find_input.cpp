// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/find_input.hpp"

#include <filesystem>

#include "src/config/source/file_look.hpp"

namespace triax {
namespace fs = std::filesystem;

FoundInput find_input(const std::string& path, const std::string& naming_file) {
  if (path.empty()) return {};
  const FileLook here = look_at(path);
  if (here.there) return {path, {}};
  if (!here.problem.empty() || fs::path(path).is_absolute()) return {{}, here.problem};
  const auto beside = fs::path(naming_file).parent_path() / path;
  const FileLook there = look_at(beside);
  return {there.there ? beside.string() : std::string(), there.problem};
}

}  // namespace triax
