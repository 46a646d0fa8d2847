// SPDX-License-Identifier: Apache-2.0
// Seal of a master: the checksum of its HDF5 data, in the user block before them.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "io/checkpoint/checkpoint_integrity.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Reads a whole file, which must have a user block.
std::string bytes_of(const std::string& path) {
  errno = 0;
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  std::string bytes = out.str();
  if (bytes.size() < static_cast<std::size_t>(hdf5::File::user_block))
    throw Error("cannot read " + path,
                errno != 0 ? std::strerror(errno) : "it is shorter than its user block",
                "Check the disk's health and the file's permissions");
  return bytes;
}

std::string seal_of(std::string_view bytes) {
  return fmt::format("triax master {:016x}\n", checksum_of(bytes.substr(hdf5::File::user_block)));
}

}  // namespace

void seal_master(const std::string& path) {
  const std::string seal = seal_of(bytes_of(path));
  errno = 0;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file << seal;
  file.close();
  if (!file)
    throw Error("cannot write the checksum of " + path, std::strerror(errno),
                "Check the disk's free space and quota");
}

void check_seal(const std::string& path) {
  // A user block of another length comes from another program.
  if (hdf5::begin_of_hdf5(path) != hdf5::File::user_block) return;
  const std::string bytes = bytes_of(path);
  if (std::string_view(bytes).starts_with(seal_of(bytes))) return;
  throw Error(
      path + " is damaged, or not a triax checkpoint",
      "the checksum before its HDF5 data does not match: bytes have changed, or another program "
      "has rewritten the file (h5repack, h5py)",
      "Use the file as triax wrote it, or another checkpoint");
}

}  // namespace triax
