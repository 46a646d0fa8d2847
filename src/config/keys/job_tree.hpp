// SPDX-License-Identifier: Apache-2.0
#pragma once
// The job as written: the job file, the files it extends and --set, merged, with the origin of
// every key.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/config/source/errors.hpp"

namespace triax {

struct JobTree {
  nlohmann::json root = nlohmann::json::object();
  std::map<std::string, Origin> origins;  // by dotted path
  std::string file;                       // the job file itself

  int line = 1;                    // of the root object
  std::vector<std::string> notes;  // for the user of a run, about keys without effect

  /// Origin of the key, else of the nearest section above it, else of the job's root.
  Origin origin(const std::string& path) const;
};

/// Reads `path` (JSON, or Axolotl's YAML by its name) over the chain of files it "extends"
/// (relative to the file that names them), and "KEY=VALUE" overrides on top. Objects merge key by
/// key, any other value is replaced, null unsets a key. Duplicate keys, cycles and overrides
/// without "=" are added to `errors`. Throws UsageError if a file cannot be read or parsed.
JobTree read_job(const std::string& path, const std::vector<std::string>& overrides,
                 ErrorList& errors);

}  // namespace triax
