#pragma once
// Pointer files of git-lfs: what a clone holds in place of large files that were not fetched.
#include <string>

#include "io/files/mapped_file.hpp"

namespace triax {

/// Error where `file` is such a pointer: a short text with the size of the file that is meant.
void refuse_lfs_pointer(const MappedFile& file);
/// The same of a file that is not open. One that cannot be read is none.
void refuse_lfs_pointer(const std::string& path);

}  // namespace triax
