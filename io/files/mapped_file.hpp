#pragma once
// A file mapped read-only into memory: pages are read when touched and dropped under memory
// pressure.
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "io/files/file_length.hpp"

namespace triax {

/// The whole of a regular file. Error: the file is absent, a directory or not readable, with the
/// system's reason.
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
  /// To be called after reading: an Error where the file was made shorter meanwhile, for the rest
  /// of its last page reads as zeros.
  void check_length() const { length_.check(); }
  /// Takes what was touched out of this process's memory; the next touch maps it again.
  void drop() const;

 private:
  std::string path_;
  FileLength length_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// From here on a page of a mapped file that cannot be read (an error of its disk, a file that was
/// made shorter) ends the process with status 3 and a text that names the file, instead of a
/// SIGBUS without a word.
void name_unreadable_files();

/// A little-endian number at any alignment.
template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace triax
