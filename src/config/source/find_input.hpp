// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search for a file that a job reads: below the working directory, else beside the naming file.
// Outputs are relative to the working directory only.
#include <string>

namespace triax {

struct FoundInput {
  std::string path;     // empty: not found
  std::string problem;  // why the system does not say whether it exists (see FileLook)
};
/// `path` as written if it exists (so relative to the working directory). Else, if relative, `path`
/// below the directory of `naming_file` if it exists there. Else empty.
FoundInput find_input(const std::string& path, const std::string& naming_file);

}  // namespace triax
