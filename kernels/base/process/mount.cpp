// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/mount.hpp"

#include <istream>

namespace triax {
namespace {

// Decodes a name of /proc/self/mounts, where blanks are octal escapes ("\040").
std::string unescaped(const std::string& text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      name += text[i];
      continue;
    }
    name += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
    i += 3;
  }
  return name;
}

bool is_below(const std::string& path, const std::string& directory) {
  return directory == "/" || path == directory || path.starts_with(directory + "/");
}

}  // namespace

Mount mount_of(const std::string& path, std::istream& mounts) {
  Mount found;
  std::size_t longest = 0;
  std::string device, directory, type, options;
  for (std::string rest; mounts >> device >> directory >> type >> options;
       std::getline(mounts, rest)) {
    directory = unescaped(directory);
    if (!is_below(path, directory) || directory.size() < longest) continue;
    longest = directory.size();
    found = {type, options};
  }
  return found;
}

}  // namespace triax
