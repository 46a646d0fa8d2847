// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts that `triax doctor` finds out about a directory: file system, space, locks, transfers past
// the cache.
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace triax::doctor {

struct DirectoryFacts {
  std::string path;     // absolute
  std::string problem;  // why nothing can be written there; empty: it can
  std::string type;     // "ext4", "nfs4", "lustre", "tmpfs", ...
  double free_bytes = 0.0;
  std::string lock_problem;  // why one run does not keep out another; empty: it does
  std::string transfers;     // how blocks are moved to its disk, as offload does
  bool seen = true;          // the file that rank 0 wrote there is seen by this rank
};

/// Writes a small file into the directory, which must be there, and removes it.
DirectoryFacts directory_facts(const std::string& directory);

/// Type of the file system that `path`, an absolute name, lies in: the longest mount point of
/// `mounts` (as /proc/self/mounts) that begins it.
std::string file_system_of(const std::string& path, const std::string& mounts);

void to_json(nlohmann::ordered_json& json, const DirectoryFacts& facts);
void from_json(const nlohmann::ordered_json& json, DirectoryFacts& facts);

}  // namespace triax::doctor
