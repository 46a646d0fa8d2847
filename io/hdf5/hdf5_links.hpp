// SPDX-License-Identifier: Apache-2.0
#pragma once
// Soft and external links of a file. Internal to io/.
#include <string>

#include "io/hdf5/hdf5_handle.hpp"

namespace triax::hdf5 {

/// Target of a soft or external link; `object` is empty for a hard link or no link.
struct LinkTarget {
  std::string object;
  std::string file;  // of an external link
  /// "<object>" or "<object> of <file>".
  std::string text() const;
};
LinkTarget target_of_link(hid_t file, const std::string& name);

/// HDF5 says of each file behind an external link that it does not open, and not why. This is the
/// error of the first file on the way to `name` that exists and does not open; empty if there is
/// none.
std::string error_behind_links(hid_t file, const std::string& name, int depth = 0);

}  // namespace triax::hdf5
