#pragma once
// Search for a file that a job names: from the working directory, else from the naming file.
#include <string>

namespace triax {

struct FoundInput {
  std::string path;     // empty: not found
  std::string problem;  // why the system does not say whether it is there (see FileLook)
};
/// `path` as written when it exists (so relative to the working directory); else, when relative,
/// below the directory of the file that names it when it exists there; else nothing.
FoundInput find_input(const std::string& path, const std::string& naming_file);

}  // namespace triax
