// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file written from begin to end, or in ranges by several threads.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace triax {

/// A new file, in place of any of its name. Errors name the file and the system's reason.
class OutputFile {
 public:
  enum class Opens : std::uint8_t { new_file, existing };
  explicit OutputFile(std::string path, Opens opens = Opens::new_file);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends through a buffer.
  void append(std::span<const std::byte> data);
  template <class T>
  void append_values(std::span<const T> values) {
    append(std::as_bytes(values));
  }
  /// Writes at byte `at`, past the buffer. Threads may call it at once, for ranges apart.
  void write_at(std::int64_t at, std::span<const std::byte> data) const;
  std::int64_t bytes() const { return at_ + std::ssize(buffer_); }  // appended so far
  /// Whether close() waits for the disk. Files that a restart makes again need not be on it.
  enum class Sync : std::uint8_t { waits, does_not };
  /// Writes the buffer and closes the file. Without it the file's content is undefined.
  void close(Sync sync = Sync::waits);

 private:
  void flush();

  std::string path_;
  std::vector<std::byte> buffer_;
  std::int64_t at_ = 0;  // bytes written by flush()
  int fd_;
};

}  // namespace triax
