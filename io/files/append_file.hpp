// SPDX-License-Identifier: Apache-2.0
#pragma once
// A file that grows at its end, and outlives the process that writes it.
#include <cstdint>
#include <string>
#include <string_view>

namespace triax {

/// Errors name the file and the system's reason.
class AppendFile {
 public:
  /// Opens the file, and creates it where there is none.
  explicit AppendFile(std::string path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  std::int64_t bytes() const { return bytes_; }
  /// Writes `text` behind all others. A process that is killed afterwards has written it; a machine
  /// that stops may lose what came after the last sync().
  void append(std::string_view text);
  /// Waits until all is on the disk.
  void sync();
  /// Cuts the file to its first `bytes` bytes.
  void cut(std::int64_t bytes);

 private:
  std::string path_;
  int fd_;
  std::int64_t bytes_ = 0;
  bool synced_ = true;
};

}  // namespace triax
