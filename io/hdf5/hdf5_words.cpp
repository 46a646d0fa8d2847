// SPDX-License-Identifier: Apache-2.0
// Arrays of 64-bit words (checksums); no DType names this type.
#include "io/hdf5/hdf5_impl.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

// Whether the stored bytes can hold `bytes`, checked before memory is allocated for a damaged size.
// h5repack may store chunks compressed by zlib, which expands one byte to at most 1032.
bool may_hold(const Handle& set, hsize_t bytes) {
  constexpr hsize_t most_of_one = 1032;
  const hsize_t stored = H5Dget_storage_size(set.id());
  const Handle creation(H5Dget_create_plist(set.id()), H5Pclose);
  if (H5Pget_layout(creation.id()) != H5D_CHUNKED) return stored == bytes;
  return bytes / most_of_one <= stored;
}

bool is_contiguous(const Handle& set) {
  const Handle creation(H5Dget_create_plist(set.id()), H5Pclose);
  return H5Pget_layout(creation.id()) == H5D_CONTIGUOUS;
}

}  // namespace

void File::create_group(const std::string& name) {
  const auto lock = library_lock();
  if (exists(name)) return;
  const Handle group(
      H5Gcreate2(impl_->file.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  impl_->require(static_cast<bool>(group), "create group", name);
}

void File::create_words(const std::string& name, std::int64_t count) {
  const auto lock = library_lock();
  impl_->create_dataset(name, Handle(H5Tcopy(H5T_STD_U64LE), H5Tclose), {count});
}

void File::write_words(const std::string& name, std::span<const std::uint64_t> words) {
  const auto lock = library_lock();
  const Handle set = impl_->dataset(name);
  const hssize_t size = H5Sget_simple_extent_npoints(impl_->space_of(set, name).id());
  check(size == static_cast<hssize_t>(words.size()), "{} words in {} of {}", words.size(), name,
        size);
  if (words.empty()) return;
  impl_->require(
      H5Dwrite(set.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()) >= 0,
      "write dataset", name);
}

std::vector<std::uint64_t> File::read_words(const std::string& name) const {
  const auto lock = library_lock();
  const Handle set = impl_->dataset(name);
  const Handle type(H5Dget_type(set.id()), H5Tclose);
  const hssize_t size = H5Sget_simple_extent_npoints(impl_->space_of(set, name).id());
  const bool ok = H5Tequal(type.id(), H5T_STD_U64LE) > 0 && size >= 0 &&
                  may_hold(set, static_cast<hsize_t>(size) * 8);
  if (!ok || !is_contiguous(set)) require_stored(name, "checksums");
  if (!ok)
    throw Error(impl_->path + " is not whole",
                fmt::format("the checksums themselves are missing: its dataset {} is virtual, or "
                            "its type or length is not that of stored 64-bit words",
                            name),
                "Use another one");
  std::vector<std::uint64_t> words(static_cast<std::size_t>(size));
  if (words.empty()) return words;
  impl_->require(
      H5Dread(set.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()) >= 0,
      "read dataset", name);
  return words;
}

}  // namespace triax::hdf5
