// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files that appear whole or not at all: sync, rename, sync the directory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace triax {

/// Directory of a path; "." where the path names none.
std::string directory_of(const std::string& path);
/// Waits until a file's (or directory's) data are on disk. Error with the system's reason.
void sync_path(const std::string& path);
/// Whether a file that has the name already is replaced or kept.
enum class Existing : std::uint8_t { replaced, kept };
/// Renames `from` to `to`. With Existing::kept a file at `to` is an Error, even one created a
/// moment ago (renameat2(2); on file systems without it the name is looked up just before). Error
/// with the system's reason.
void rename_path(const std::string& from, const std::string& to,
                 Existing existing = Existing::replaced);
/// rename(2), then the directory's sync: after it, `to` is the new file even if the machine stops.
void rename_durably(const std::string& from, const std::string& to,
                    Existing existing = Existing::replaced);
/// Writes a small file atomically: under its name it is whole and on disk, or absent.
void write_durably(const std::string& path, const std::string& text);
/// Writes all of `data` at byte `at` of an open file, in as many system calls as needed. `at`
/// becomes the offset of the first byte not written. Returns 0 or errno.
int write_all(int file, std::span<const std::byte> data, std::int64_t& at) noexcept;
/// Reserves `bytes` of disk space for an existing file, which is at least that long afterwards.
/// Error when space is short (disk, quota or limit). File systems that cannot reserve are assumed
/// to have the space.
void reserve_space(const std::string& path, std::int64_t bytes);
/// Checks space for several files at once: Error where the file system of `directory` reports fewer
/// than `bytes` free.
void require_room(const std::string& directory, std::int64_t bytes);

}  // namespace triax
