#pragma once
// A job read, checked and resolved: what load_job and describe_job share.
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/settings.hpp"

namespace triax {

struct ResolvedJob {
  Settings settings;
  ModelConfig model;
};

/// UsageError with every error of the job. `table` must outlive the result.
ResolvedJob resolve_job(const KeyTable& table, const std::string& path,
                        const std::vector<std::string>& overrides, int ranks);

}  // namespace triax
