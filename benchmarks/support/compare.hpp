// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparison of files of results.
#include <string>
#include <vector>

#include "benchmarks/support/results.hpp"

namespace triax::benchmark {

/// Short names that differ: as few of the paths' last names as needed.
std::vector<std::string> short_names(const std::vector<std::string>& paths);

/// The machines of the programs as a Markdown table: one row per fact, one column per file. files:
/// their names.
std::string machine_table(const Results& results, const std::vector<std::string>& files);

/// Facts that differ between the files that state them, one line each, except those of a single
/// call (when, where, on how many ranks).
std::vector<std::string> differences(const Results& results, const std::vector<std::string>& files);

/// One line per case of the first of two files that the second lacks, or whose rate (or else time)
/// is more than `percent` per cent worse there.
std::vector<std::string> worse(const Results& results, double percent);

}  // namespace triax::benchmark
