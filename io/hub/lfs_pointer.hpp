// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pointer files of git-lfs: a clone has them in place of large files that were not fetched.
#include <string>

#include "io/files/mapped_file.hpp"

namespace triax {

/// Error where `file` is a pointer file; it names the size of the file that is missing.
void refuse_lfs_pointer(const MappedFile& file);
/// As above, for a file that is not open. A file that cannot be read is accepted.
void refuse_lfs_pointer(const std::string& path);

}  // namespace triax
