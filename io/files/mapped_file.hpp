// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file mapped read-only into memory: pages are read when touched and dropped under memory
// pressure.
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "io/files/file_length.hpp"

namespace triax {

/// Maps a whole regular file. Error with the system's reason where the file is absent, a directory
/// or not readable.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }  // bytes
  const std::byte* data() const { return data_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Call after reading. Error where the file was truncated meanwhile: the rest of its last page
  /// reads as zeros.
  void check_length() const { length_.check(); }
  /// Releases the resident pages of the mapping; the next access maps them again.
  void drop() const;

 private:
  std::string path_;
  FileLength length_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Installs a SIGBUS handler: a page of a mapped file that cannot be read (disk error, truncated
/// file) ends the process with status 3 and an error that names the file.
void name_unreadable_files();

/// Reads a little-endian number at any alignment.
template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace triax
