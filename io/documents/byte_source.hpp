// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of a file in sequence, decompressed where the file is compressed.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace triax {

/// A stream of bytes in bounded memory.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the beginning of `out` and returns the number of bytes, 0 only at the end. Error with
  /// the file's name where it cannot be read, is truncated or damaged.
  virtual std::size_t read(std::span<char> out) = 0;
  /// Bytes of the file that were read so far, as they lie on disk.
  virtual std::int64_t taken() const = 0;
};

enum class Compression : std::uint8_t { none, gzip, zstd };

/// Compression of a file by its first bytes (RFC 1952, RFC 8878), whatever its name is. Error where
/// it cannot be read, or is a pointer of git-lfs.
Compression compression_of(const std::string& path);

/// Bytes from `begin` on of a plain file, to its end.
std::unique_ptr<ByteSource> open_plain(const std::string& path, std::int64_t begin);
/// The members of a gzip file, one after another.
std::unique_ptr<ByteSource> open_gzip(const std::string& path);
/// The frames of a Zstandard file, one after another.
std::unique_ptr<ByteSource> open_zstd(const std::string& path);

/// A file from its first byte on, decompressed.
std::unique_ptr<ByteSource> open_bytes(const std::string& path, Compression compression);

}  // namespace triax
