// SPDX-License-Identifier: Apache-2.0
#include "io/hub/lfs_pointer.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Value of the first line "<key> <value>" of `text`; "" where there is none.
std::string_view line_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' '))
      return line.substr(key.size() + 1);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

constexpr std::size_t longest = 1024;  // bytes of a pointer, by its specification

void refuse(const std::string& path, std::string_view text) {
  if (text.size() >= longest || !line_of(text, "version").starts_with("https://git-lfs")) return;
  const std::string_view size = line_of(text, "size");
  throw Error(path + " is a pointer of git-lfs, not the file itself",
              size.empty() ? fmt::format("it has {} bytes", text.size())
                           : fmt::format("it has {} bytes and stands for {}", text.size(), size),
              "Fetch the file: run `git lfs pull` in its repository");
}

}  // namespace

void refuse_lfs_pointer(const MappedFile& file) {
  refuse(file.path(), {reinterpret_cast<const char*>(file.data()), file.size()});
}

void refuse_lfs_pointer(const std::string& path) {
  std::string text(longest, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  refuse(path, text);
}

}  // namespace triax
