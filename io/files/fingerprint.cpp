// SPDX-License-Identifier: Apache-2.0
#include "io/files/fingerprint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "io/files/checksum.hpp"

namespace triax {

std::string fingerprint(const std::string& path) {
  constexpr std::int64_t block = 4096;
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (error) return error.message();
  errno = EIO;  // for a stream that sets no errno
  std::ifstream file(path, std::ios::binary);
  std::string blocks;
  for (const std::int64_t at :
       {std::int64_t{0}, bytes / 2, std::max<std::int64_t>(0, bytes - block)}) {
    std::string part(static_cast<std::size_t>(std::min(block, bytes - at)), '\0');
    file.seekg(at);
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    blocks += part;
  }
  if (!file) return std::strerror(errno);
  return fmt::format("{} bytes, checksum {:016x} of three blocks", bytes, checksum_of(blocks));
}

}  // namespace triax
