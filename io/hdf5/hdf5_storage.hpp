#pragma once
// Which elements of a dataset are stored. Internal to io/.
#include <string>

#include "io/hdf5/hdf5_handle.hpp"

namespace triax::hdf5 {

/// Elements of a dataset that no file holds, so that HDF5 reads its fill value for them.
struct Gap {
  hsize_t elements = 0;
  std::string why;  // of the first ones; empty: there is no gap
  /// Nothing where `more` is 0.
  void add(hsize_t more, const std::string& reason);
};

/// The selected elements of a dataset, not a virtual one, that were never written, or that
/// a file of raw data beside it lacks. Reads no data: HDF5 knows of each chunk whether it is there.
Gap gap_of_storage(hid_t set, hid_t selection);

}  // namespace triax::hdf5
