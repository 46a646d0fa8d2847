// SPDX-License-Identifier: Apache-2.0
#pragma once
// HDF5 files made by HDF5's own API, as other programs make them.
#include <filesystem>
#include <string>
#include <vector>

#include "io/hdf5/hdf5_handle.hpp"
#include "kernels/base/check.hpp"

namespace triax::test {

using hdf5::Handle;

/// Sets the environment of io/ before the library's first call.
[[maybe_unused]] inline const bool prepared = hdf5::library_lock().owns_lock();

/// Checks that HDF5 returned no error, and returns its value.
template <class T>
T made(T value) {
  check(value >= 0, "HDF5 refuses what a test asks of it: {}", hdf5::last_error());
  return value;
}

inline Handle plist(hid_t kind) {
  return {made(H5Pcreate(kind)), H5Pclose};
}

/// Creates a file with a user block of `user_block` bytes.
inline Handle new_file(const std::string& path, hsize_t user_block = 0) {
  const Handle creation = plist(H5P_FILE_CREATE);
  if (user_block > 0) made(H5Pset_userblock(creation.id(), user_block));
  return {made(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), H5P_DEFAULT)), H5Fclose};
}

inline Handle simple_space(const std::vector<hsize_t>& extents,
                           const std::vector<hsize_t>& most = {}) {
  return {made(H5Screate_simple(static_cast<int>(extents.size()), extents.data(),
                                most.empty() ? nullptr : most.data())),
          H5Sclose};
}

/// Creates a dataset, and missing groups of its path.
inline Handle new_set(const Handle& file, const std::string& name, const Handle& space,
                      const Handle& creation, hid_t type = H5T_STD_I32LE) {
  const Handle links = plist(H5P_LINK_CREATE);
  made(H5Pset_create_intermediate_group(links.id(), 1));
  return {made(H5Dcreate2(file.id(), name.c_str(), type, space.id(), links.id(), creation.id(),
                          H5P_DEFAULT)),
          H5Dclose};
}

/// Creates a file in the newest format of the library.
inline Handle new_latest_file(const std::string& path) {
  const Handle access = plist(H5P_FILE_ACCESS);
  made(H5Pset_libver_bounds(access.id(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
  return {made(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id())), H5Fclose};
}

/// Creates a contiguous dataset with these values.
inline void put(const Handle& file, const std::string& name, const std::vector<int>& values,
                hid_t type = H5T_STD_I32LE) {
  const Handle set =
      new_set(file, name, simple_space({values.size()}), plist(H5P_DATASET_CREATE), type);
  made(H5Dwrite(set.id(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
}

inline void put_file(const std::string& path, const std::string& name,
                     const std::vector<int>& values) {
  put(new_file(path), name, values);
}

/// As put(), in a file that a killed writer left open.
inline void put_file_left_open(const std::string& path, const std::string& name,
                               const std::vector<int>& values) {
  const Handle file = new_latest_file(path + ".writing");
  put(file, name, values);
  made(H5Fflush(file.id(), H5F_SCOPE_GLOBAL));
  std::filesystem::copy_file(path + ".writing", path);
}

/// Creates a dataset of `size` elements in chunks of `chunk`, and writes elements [begin, end).
inline void put_chunked(const Handle& file, const std::string& name, hsize_t size, hsize_t chunk,
                        hsize_t begin, hsize_t end, bool compressed = false) {
  const Handle creation = plist(H5P_DATASET_CREATE);
  made(H5Pset_chunk(creation.id(), 1, &chunk));
  if (compressed) made(H5Pset_deflate(creation.id(), 1));
  const Handle space = simple_space({size});
  const Handle set = new_set(file, name, space, creation);
  if (begin == end) return;
  std::vector<int> values;
  for (hsize_t i = begin; i < end; ++i) values.push_back(static_cast<int>(i) + 1);
  const hsize_t count = end - begin;
  made(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr));
  made(H5Dwrite(set.id(), H5T_NATIVE_INT, simple_space({count}).id(), space.id(), H5P_DEFAULT,
                values.data()));
}

/// Hyperslab of a one-dimensional dataset: `count` blocks of `block` elements.
struct Selected {
  hsize_t extent, begin, count = 1, stride = 1, block = 1;
};
inline Selected all_of(hsize_t extent) {
  return {extent, 0, 1, 1, extent};
}
inline Selected range_of(hsize_t extent, hsize_t begin, hsize_t end) {
  return {extent, begin, 1, 1, end - begin};
}

inline Handle selection(const Selected& part) {
  Handle space = simple_space({part.extent}, {H5S_UNLIMITED});
  made(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &part.begin, &part.stride, &part.count,
                           &part.block));
  return space;
}

struct Piece {
  Selected target;
  std::string file, dataset;
  Selected source;
};

/// Creates a one-dimensional virtual dataset.
inline void put_virtual(const Handle& file, const std::string& name, hsize_t size,
                        const std::vector<Piece>& pieces, bool endless = false) {
  const Handle creation = plist(H5P_DATASET_CREATE);
  for (const Piece& piece : pieces)
    made(H5Pset_virtual(creation.id(), selection(piece.target).id(), piece.file.c_str(),
                        piece.dataset.c_str(), selection(piece.source).id()));
  const Handle space = endless ? simple_space({size}, {H5S_UNLIMITED}) : simple_space({size});
  new_set(file, name, space, creation);
}

}  // namespace triax::test
