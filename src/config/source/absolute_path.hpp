// SPDX-License-Identifier: Apache-2.0
#pragma once
// Paths as a run remembers them, in job.json.
#include <string>

namespace triax {

/// `path` from the root, without "." and "..", to the same file. A ".." after a link is the
/// directory above the link's target, as the system resolves it; other links keep their names. A
/// ".." after a path that cannot be looked at stays.
std::string absolute_path(const std::string& path);

}  // namespace triax
