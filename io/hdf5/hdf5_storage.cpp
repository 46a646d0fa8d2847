// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5_storage.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "io/hdf5/hdf5_mapping.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

/// Grid of a dataset's chunks.
struct Chunks {
  std::vector<hsize_t> extents, sizes;  // of the dataset; of a chunk
  hsize_t count = 1;

  Chunks(hid_t creation, hid_t space) : extents(extents_of(space)), sizes(extents) {
    const auto rank = static_cast<int>(sizes.size());
    check(H5Pget_chunk(creation, rank, sizes.data()) == rank, "no chunks: {}", last_error());
    for (std::size_t d = 0; d < sizes.size(); ++d) count *= (extents[d] + sizes[d] - 1) / sizes[d];
  }

  /// Moves `first` from the first element of a chunk to that of the next chunk; false after the
  /// last.
  bool next(std::vector<hsize_t>& first) const {
    for (std::size_t d = first.size(); d-- > 0;) {
      first[d] += sizes[d];
      if (first[d] < extents[d]) return true;
      first[d] = 0;
    }
    return false;
  }
};

// Number of selected elements in one chunk.
hsize_t selected_elements(hid_t selection, const std::vector<hsize_t>& first,
                          const std::vector<hsize_t>& sizes) {
  const Handle part = hyperslab_of(selection);
  check(H5Sselect_hyperslab(part.id(), H5S_SELECT_AND, first.data(), nullptr, sizes.data(),
                            nullptr) >= 0,
        "HDF5 refuses a chunk as a selection: {}", last_error());
  return count_of(part.id());
}

Gap gap_of_chunks(hid_t set, hid_t creation, hid_t selection) {
  const Chunks chunks(creation, selection);
  const Handle all(H5Dget_space(set), H5Sclose);
  hsize_t stored = 0;
  check(H5Dget_num_chunks(set, all.id(), &stored) >= 0, "chunks are not counted: {}", last_error());
  Gap gap;
  if (stored >= chunks.count) return gap;
  const std::string why =
      fmt::format("{} of its {} chunks were never written", chunks.count - stored, chunks.count);
  if (stored == 0) {
    gap.add(count_of(selection), why);
    return gap;
  }
  std::vector<hsize_t> first(chunks.sizes.size());
  do {
    hsize_t bytes = 0;
    if (H5Dget_chunk_storage_size(set, first.data(), &bytes) < 0 || bytes == 0)
      gap.add(selected_elements(selection, first, chunks.sizes), why);
  } while (chunks.next(first));
  return gap;
}

// Gap in external raw data files: HDF5 reads zeros beyond the end of one.
Gap gap_of_raw_files(hid_t set, hid_t creation, hid_t selection) {
  constexpr std::size_t longest_name = 4096;
  const Handle access(H5Dget_access_plist(set), H5Pclose);
  const std::string prefix = text_of(
      [&](char* to, std::size_t size) { return H5Pget_efile_prefix(access.id(), to, size); });
  const Handle type(H5Dget_type(set), H5Tclose);
  const hsize_t width = H5Tget_size(type.id());
  const Handle space(H5Dget_space(set), H5Sclose);
  hsize_t bytes = width * static_cast<hsize_t>(H5Sget_simple_extent_npoints(space.id()));
  Gap gap;
  for (int i = 0; i < H5Pget_external_count(creation) && bytes > 0; ++i) {
    std::string name(longest_name, '\0');
    off_t offset = 0;
    hsize_t size = 0;
    check(H5Pget_external(creation, static_cast<unsigned>(i), name.size(), name.data(), &offset,
                          &size) >= 0,
          "no file of raw data: {}", last_error());
    name.resize(std::min(name.find('\0'), name.size()));
    const std::filesystem::path path = std::filesystem::path(prefix) / name;
    std::error_code error;
    const std::uintmax_t length = std::filesystem::file_size(path, error);
    const auto end = static_cast<std::uintmax_t>(offset);
    const hsize_t there = error || length < end ? 0 : length - end;
    const hsize_t asked = std::min(size, bytes);
    if (there < asked)
      gap.add(std::min((asked - there + width - 1) / width, count_of(selection)),
              fmt::format("its raw data are in {}, {}", path.string(),
                          error ? error.message()
                                : fmt::format("which has {} bytes of {}", length, end + asked)));
    bytes -= asked;
  }
  return gap;
}

}  // namespace

void Gap::add(hsize_t more, const std::string& reason) {
  if (more > 0) add_end(more, reason);
}

void Gap::add_end(hsize_t more, const std::string& reason) {
  if (why.empty()) why = reason;
  elements += more;
}

Gap gap_of_storage(hid_t set, hid_t selection) {
  const Handle creation(H5Dget_create_plist(set), H5Pclose);
  check(static_cast<bool>(creation), "a dataset has no layout: {}", last_error());
  Gap gap;
  if (count_of(selection) == 0) return gap;
  switch (H5Pget_layout(creation.id())) {
    case H5D_CHUNKED:
      return gap_of_chunks(set, creation.id(), selection);
    case H5D_CONTIGUOUS:
      if (H5Pget_external_count(creation.id()) > 0)
        return gap_of_raw_files(set, creation.id(), selection);
      if (H5Dget_storage_size(set) == 0) gap.add(count_of(selection), "none was ever written");
      return gap;
    default:  // compact: stored in the object header
      return gap;
  }
}

}  // namespace triax::hdf5
