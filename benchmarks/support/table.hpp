// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of results in Markdown.
#include <string>
#include <vector>

#include "benchmarks/support/results.hpp"

namespace triax::benchmark {

/// Texts such as "1.2 ms", "273 GFLOP/s", "1.3 GB": three digits (all digits of seconds from 1000
/// on), with the unit of the figure's name.
std::string seconds_text(double seconds);
std::string figure_text(const std::string& name, double value);

/// A row of a Markdown table.
std::string row(std::vector<std::string> cells);
/// The first row of a Markdown table, and the line below.
std::string head(const std::vector<std::string>& names);

/// Reference of the fractions of these cases: "triad", or "the limit" if they differ.
std::string limit_of(const std::vector<const Case*>& cases);

/// One row per case: time, spread of the runs, rate and fraction of the limit. For several files,
/// one row per case and file (one that says so if the file lacks the case), with the first file's
/// time over this file's.
std::string case_table(const std::vector<const Case*>& cases,
                       const std::vector<std::string>& files);

/// One case by several programs: seconds, rate, memory, ratio, and distance of the first losses.
/// The program named triax, or else the first one, is the reference.
std::string peer_table(std::vector<const Case*> programs);

/// A series by increasing number of cores: the rate, and the rate per core relative to the fewest
/// cores.
std::string scaling_table(std::vector<const Case*> points);

}  // namespace triax::benchmark
