#pragma once
// Paths as a run remembers them, in job.json.
#include <string>

namespace triax {

/// `path` from the root, without "." and "..", to the same file: ".." behind a link is the
/// directory above the link's target, as it is to the system. Other links keep their names. A ".."
/// behind what cannot be looked at stays.
std::string absolute_path(const std::string& path);

}  // namespace triax
