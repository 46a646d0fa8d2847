// SPDX-License-Identifier: Apache-2.0
#pragma once
// File systems of this machine, by the lines of /proc/self/mounts.
#include <iosfwd>
#include <string>

namespace triax {

struct Mount {
  std::string type;     // "ext4"
  std::string options;  // "rw,relatime"
};

/// The mount that holds the absolute `path`; empty texts if none does. `mounts`: lines as those of
/// /proc/self/mounts, of which later ones hide earlier ones on the same directory.
Mount mount_of(const std::string& path, std::istream& mounts);

}  // namespace triax
