// SPDX-License-Identifier: Apache-2.0
// Opens and creates files.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "io/files/shell_word.hpp"
#include "io/hdf5/hdf5_impl.hpp"
#include "io/hub/lfs_pointer.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

// The access properties that HDF5 itself uses when it follows an external link: it refuses to open
// one file with two sets of properties.
Handle read_access() {
  // Without this cache each external link reopens its file.
  constexpr unsigned open_files = 64;
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const bool ok = access && H5Pset_fclose_degree(access.id(), H5F_CLOSE_WEAK) >= 0 &&
                  H5Pset_elink_file_cache_size(access.id(), open_files) >= 0;
  check(ok, "HDF5 refuses the access properties: {}", last_error());
  return access;
}

}  // namespace

Handle file_access(File::Mode mode, const FileHints& hints, std::int64_t structure_bytes) {
  constexpr hsize_t large = 64 * 1024;
  // create_blocks aligns every object to a page, so that no two share one.
  const hsize_t threshold = mode == File::Mode::create_blocks ? 1 : large;
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Metadata lie together, not between the data, so that a reader needs few reads. HDF5's default
  // unit is 2 KiB; the unused rest of the last unit makes small files larger.
  constexpr hsize_t least = 32 * 1024;
  const auto together = std::max(least, static_cast<hsize_t>(structure_bytes));
  const bool gathered = mode == File::Mode::create_blocks ||
                        (H5Pset_meta_block_size(access.id(), together) >= 0 &&
                         H5Pset_small_data_block_size(access.id(), together / 4) >= 0);
  // Lower bound 1.8: allows attributes beyond 64 KiB (a long job file), and every tool in use reads
  // it.
  const bool ok =
      access && gathered && H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG) >= 0 &&
      H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_V110) >= 0 &&
      H5Pset_alignment(access.id(), threshold, static_cast<hsize_t>(hints.alignment)) >= 0;
  check(ok, "HDF5 refuses the access properties: {}", last_error());
  return access;
}

Handle create_file(const std::string& path, File::Mode mode, const Handle& access) {
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  const bool ready = mode != File::Mode::create_behind_block ||
                     H5Pset_userblock(creation.id(), File::user_block) >= 0;
  check(ready, "HDF5 refuses a user block: {}", last_error());
  Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose);
  if (!file)
    throw Error("cannot create " + path, last_error(),
                "Check that the directory exists on every node, is writable and has free space");
  return file;
}

std::string why_unreadable(const std::string& path) {
  struct stat status {};
  const int error = ::stat(path.c_str(), &status) != 0  ? errno
                    : S_ISDIR(status.st_mode)           ? EISDIR
                    : ::access(path.c_str(), R_OK) != 0 ? errno
                                                        : 0;
  if (error == 0) return {};
  std::error_code no_link;
  const auto target = std::filesystem::read_symlink(path, no_link);
  if (error != ENOENT || no_link) return std::strerror(error);
  return fmt::format("it is a link to {}, which does not exist", target.string());
}

std::int64_t begin_of_hdf5(const std::string& path) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  constexpr std::int64_t smallest_user_block = 512;
  constexpr std::int64_t largest_user_block = 1 << 20;  // searched, in files of any format
  std::ifstream file(path, std::ios::binary);
  std::string found(signature.size(), '\0');
  for (std::int64_t at = 0; at <= largest_user_block; at = std::max(smallest_user_block, 2 * at)) {
    file.seekg(at);
    if (!file.read(found.data(), static_cast<std::streamsize>(found.size()))) return -1;
    if (found == signature) return at;
  }
  return -1;
}

namespace {

// Errors in plain words for common cases that HDF5 reports by a long error stack.
void require_readable(const std::string& path) {
  if (const std::string why = why_unreadable(path); !why.empty())
    throw Error("cannot open " + path, why, "Check the path and its permissions");
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && status.st_size == 0)
    throw Error(path + " is not an HDF5 file", "it is empty", "Check the path");
}

// Prefetches the first 1 MiB, where triax puts the metadata: one disk read instead of many small
// ones.
void fetch_structure(const std::string& path) {
  constexpr off_t bytes = off_t{1} << 20;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)::posix_fadvise(fd, 0, bytes, POSIX_FADV_WILLNEED);
  ::close(fd);
}

// Whether the superblock (version 2 or later) marks the file as open for writing. The writer clears
// the mark when it closes the file.
bool is_marked_as_open(const std::string& path) {
  constexpr std::streamoff version_at = 8;  // offset from the signature
  constexpr std::streamoff flags_at = 11;
  constexpr int being_written = 1 | 4;  // bit 0: write access; bit 2: SWMR write access
  const std::int64_t begin = begin_of_hdf5(path);
  std::ifstream file(path, std::ios::binary);
  const auto byte = [&](std::streamoff at) { return file.seekg(begin + at).get(); };
  return begin >= 0 && byte(version_at) >= 2 && (byte(flags_at) & being_written) != 0 && file;
}

}  // namespace

Handle open_to_read(const std::string& path) {
  require_readable(path);
  fetch_structure(path);
  const Handle access = read_access();
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  if (file) return file;
  const std::string why = last_error();
  refuse_lfs_pointer(path);
  if (is_marked_as_open(path))
    throw Error("cannot open " + path + " as HDF5",
                "it is marked as open for writing: a program is writing it, or was killed while it "
                "was",
                fmt::format("Wait for a program that is writing it. If there is none, `h5clear -s "
                            "{}` removes the mark: then check that all of its data are there",
                            shell_word(path)));
  throw Error("cannot open " + path + " as HDF5", why,
              "The file is truncated, damaged or of another format: use another one");
}

}  // namespace triax::hdf5
