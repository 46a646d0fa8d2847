#pragma once
// The job as written: its file, the files that it extends and --set, merged, with the origin of
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

  int line = 1;  // of its root

  /// Where the key was written, or the nearest section above it; the job's root where nothing was.
  Origin origin(const std::string& path) const;
};

/// Reads `path`, what it "extends" (relative to the file that says so; chains allowed) underneath,
/// and "KEY=VALUE" overrides on top. Objects merge key by key, everything else is replaced; null
/// unsets. Duplicate keys, cycles and overrides without "=" are added to `errors`; files that
/// cannot be read or parsed throw UsageError.
JobTree read_job(const std::string& path, const std::vector<std::string>& overrides,
                 ErrorList& errors);

}  // namespace triax
