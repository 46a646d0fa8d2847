#pragma once
// Files of results held against each other.
#include <string>
#include <vector>

#include "benchmarks/support/results.hpp"

namespace triax::benchmark {

/// What tells these paths apart: as few of their last names as differ.
std::vector<std::string> short_names(const std::vector<std::string>& paths);

/// What the programs ran on, a row a fact and a column a file (Markdown). `files`: their names.
std::string machine_table(const Results& results, const std::vector<std::string>& files);

/// Facts that are not the same in all files that say them, a line each; those of one run (when,
/// where, on how many ranks) apart.
std::vector<std::string> differences(const Results& results, const std::vector<std::string>& files);

/// Cases of the first of two files that the second does not have, or whose rate (without one, whose
/// time) is more than so many per cent worse there: a line each.
std::vector<std::string> worse(const Results& results, double percent);

}  // namespace triax::benchmark
