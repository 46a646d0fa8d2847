#pragma once
// Files that appear whole or not at all: sync, rename, sync the directory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace triax {

/// The directory part of a path; "." where there is none.
std::string directory_of(const std::string& path);
/// Waits until a file's (or directory's) data are on disk. Error with the system's reason.
void sync_path(const std::string& path);
/// What becomes of a file that has the name already.
enum class Existing : std::uint8_t { replaced, kept };
/// Gives `from` the name `to`. Where a file there is kept, it is an Error, also where it came a
/// moment ago (renameat2(2); file systems without it are asked just before). Error with the
/// system's reason.
void rename_path(const std::string& from, const std::string& to,
                 Existing existing = Existing::replaced);
/// rename(2), then the directory's sync: after it, `to` is the new file even if the machine stops.
void rename_durably(const std::string& from, const std::string& to,
                    Existing existing = Existing::replaced);
/// A small file of this text, whole and on the disk under its name or not at all.
void write_durably(const std::string& path, const std::string& text);
/// Writes all of `data` at byte `at` of an open file, however little the system takes at once. `at`
/// becomes the first byte that was not written. Returns 0, or errno where the disk refused.
int write_all(int file, std::span<const std::byte> data, std::int64_t& at) noexcept;
/// Reserves room for `bytes` in an existing file, which is at least that long afterwards. Error
/// when there is no room (disk, quota or limit); file systems that cannot reserve are believed to
/// have it.
void reserve_space(const std::string& path, std::int64_t bytes);
/// For files that come one after another: Error where the file system of `directory` says that it
/// has no room for all of their `bytes`.
void require_room(const std::string& directory, std::int64_t bytes);

}  // namespace triax
