#pragma once
// The mappings of virtual datasets, and HDF5's selections of elements. Internal to io/.
#include <string>
#include <vector>

#include "io/hdf5/hdf5_handle.hpp"

namespace triax::hdf5 {

/// Sizes of the dimensions; none for a scalar.
std::vector<hsize_t> extents_of(hid_t space);
/// The selected elements of `space` as a hyperslab, also where they are all: HDF5 combines no other
/// selections.
Handle hyperslab_of(hid_t space);
/// The elements that two selections have in common.
Handle common_elements(hid_t first, hid_t second);
/// Number of selected elements.
hsize_t count_of(hid_t space);

/// The box around selected elements, its first and its last index in each dimension.
struct Bounds {
  bool empty = true;
  std::vector<hsize_t> low, high;
};
Bounds bounds_of(hid_t space);
bool meet(const Bounds& a, const Bounds& b);

/// Elements of a virtual dataset that are elements of another one, in row-major order both.
struct Mapping {
  Handle target;  // in the virtual dataset
  Handle source;  // in a source dataset as large as the mapping's maker thought it is
  Bounds bounds;  // of the target
  int endless_target = -1, endless_source = -1;  // the dimension in which it has no end
  std::string file;  // named from the virtual dataset's file; ".": that file
  std::string dataset;
};

/// Opens a dataset, whose size is that of its numbered sources where it is virtual and has such.
/// Error with HDF5's reason alone.
Handle open_dataset(hid_t file, const std::string& name);

/// The mappings of a dataset. Not virtual: none.
struct Layout {
  bool is_virtual = false;
  std::vector<Mapping> mappings;
};
Layout layout_of(hid_t set);

/// A mapping for a source dataset as it is.
struct Fit {
  Handle target, source;
  bool ok = false;  // the source has the elements that are asked of it, those of an endless mapping
                    // as far as both go
};
Fit fit(const Mapping& mapping, hid_t source_set);

/// The file of a source as HDF5 looks for it: beside the virtual dataset's file `holder` first,
/// then from the working directory, then beside the file that `holder` is a link to. Where there is
/// none, the first of these paths.
std::string path_of_source(const std::string& holder, const std::string& file);

/// The text that `get(to, size)` writes; it returns the length.
template <class Get>
std::string text_of(Get&& get) {
  const ssize_t length = get(nullptr, 0);
  if (length < 0) return {};
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  get(text.data(), text.size());
  text.pop_back();
  return text;
}

/// The path of the file that an object lies in.
inline std::string path_of(hid_t object) {
  return text_of([&](char* to, std::size_t size) { return H5Fget_name(object, to, size); });
}

}  // namespace triax::hdf5
