// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sources of data.train: their files, and names for log lines and metrics.
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// Files of each source; all in one where data.sources is empty.
std::vector<std::vector<std::string>> source_files(const DataConfig& data);

/// Short names of the sources: the pattern that the files of each have in common, without the
/// directories that all sources share. Each name once.
std::vector<std::string> source_names(const DataConfig& data);

}  // namespace triax
