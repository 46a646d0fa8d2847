// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mappings of virtual datasets, and selections of elements. Internal to io/.
#include <string>
#include <vector>

#include "io/hdf5/hdf5_handle.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {

/// Sizes of the dimensions; none for a scalar.
std::vector<hsize_t> extents_of(hid_t space);
/// The selection of `space` as a hyperslab, also where all elements are selected: HDF5 combines
/// only hyperslabs.
Handle hyperslab_of(hid_t space);
/// Intersection of two selections.
Handle common_elements(hid_t first, hid_t second);
/// Number of selected elements.
hsize_t count_of(hid_t space);

/// Bounding box of a selection: first and last index in each dimension.
struct Bounds {
  bool empty = true;
  std::vector<hsize_t> low, high;
};
Bounds bounds_of(hid_t space);
bool meet(const Bounds& a, const Bounds& b);

/// Maps selected elements of a source dataset, in row-major order, to selected elements of a
/// virtual dataset.
struct Mapping {
  Handle target;                                 // in the virtual dataset
  Handle source;                                 // in a source of the size that the creator assumed
  Bounds bounds;                                 // of `target`
  int endless_target = -1, endless_source = -1;  // the unlimited dimension; -1: none
  std::string file;  // relative to the virtual dataset's file; ".": that file
  std::string dataset;
};

/// A file behind an external link does not open.
class LinkError : public Error {
 public:
  using Error::Error;
};

/// Opens a dataset. A virtual one with numbered sources ("%b") gets the size of the sources found.
/// Error with HDF5's reason alone, or LinkError with that of a file behind an external link.
Handle open_dataset(hid_t file, const std::string& name);

/// Unlimited mapping to numbered sources ("%b"). HDF5 takes the first missing source for the end
/// of the dataset, unless one of the next 100 opens.
struct NumberedSources {
  std::string file, dataset;  // names with "%b"
  hsize_t count = 0;          // sources up to the end of the dataset
  /// First source behind the end.
  Mapping next() const;
};

/// The mappings of a dataset; none unless it is virtual.
struct Layout {
  bool is_virtual = false;
  std::vector<Mapping> mappings;
  std::vector<NumberedSources> numbered;  // their sources up to the end are in `mappings`
  // Sizes of a dataset with unlimited mappings: in the file, and by the sources that HDF5 found.
  std::vector<hsize_t> stored, current;
  /// First dimension that is shorter than in the file; -1: none.
  int shrunk() const;
};
Layout layout_of(hid_t set);

/// A mapping fitted to the actual size of its source dataset. ok: the source has all mapped
/// elements, where an unlimited mapping is cut to the shorter side.
struct Fit {
  Handle target, source;
  bool ok = false;
};
Fit fit(const Mapping& mapping, hid_t source_set);

/// Path of a source file, in HDF5's order of search: an absolute path as it is, else its name
/// beside the virtual dataset's file `holder`, then in the working directory, then beside the file
/// that `holder` links to. Where none exists, the first of these paths.
std::string path_of_source(const std::string& holder, const std::string& file);

/// A file of a higher number beside the numbered sources, behind the end of the dataset; empty if
/// there is none. `holder`: as in path_of_source().
std::string later_file(const std::string& holder, const NumberedSources& sources);

/// Text from an HDF5 function `get(to, size)`, which writes it and returns its length.
template <class Get>
std::string text_of(Get&& get) {
  const ssize_t length = get(nullptr, 0);
  if (length < 0) return {};
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  get(text.data(), text.size());
  text.pop_back();
  return text;
}

/// Path of the file that contains an object.
inline std::string path_of(hid_t object) {
  return text_of([&](char* to, std::size_t size) { return H5Fget_name(object, to, size); });
}

}  // namespace triax::hdf5
