// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds elements of a dataset that are not stored. Internal to io/.
#include <string>

#include "io/hdf5/hdf5_handle.hpp"

namespace triax::hdf5 {

/// Elements of a dataset that no file stores: HDF5 reads its fill value for them.
struct Gap {
  hsize_t elements = 0;
  std::string why;  // reason for the first ones; empty: no gap
  /// Adds `more` elements; keeps the first reason. Does nothing where `more` is 0.
  void add(hsize_t more, const std::string& reason);
  /// As add(), and keeps the reason also where `more` is 0: elements behind the end.
  void add_end(hsize_t more, const std::string& reason);
};

/// Gap in the selection of a dataset that is not virtual: elements never written, or missing from
/// an external raw data file. Reads no data: HDF5 knows whether each chunk is stored.
Gap gap_of_storage(hid_t set, hid_t selection);

}  // namespace triax::hdf5
