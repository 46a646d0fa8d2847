// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts of `triax doctor` about a directory: file system, free space, locks, direct transfers.
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace triax::doctor {

struct DirectoryFacts {
  std::string path;     // absolute
  std::string problem;  // why it cannot be written; empty: it can
  std::string type;     // "ext4", "nfs4", "lustre", "tmpfs", ...
  double free_bytes = 0.0;
  std::string lock_problem;  // why locks do not keep a second run out; empty: they do
  std::string transfers;     // transfer method of offload files there (BlockFile)
  bool seen = true;          // this rank sees the file that rank 0 wrote there
};

/// Facts of `directory`, which must exist. Writes a small file there and removes it.
DirectoryFacts directory_facts(const std::string& directory);

/// Type of the file system of `path` (absolute): of its longest mount point in `mounts`, the text
/// of /proc/self/mounts.
std::string file_system_of(const std::string& path, const std::string& mounts);

void to_json(nlohmann::ordered_json& json, const DirectoryFacts& facts);
void from_json(const nlohmann::ordered_json& json, DirectoryFacts& facts);

}  // namespace triax::doctor
