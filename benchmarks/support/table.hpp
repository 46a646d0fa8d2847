#pragma once
// Tables of results, in Markdown.
#include <string>
#include <vector>

#include "benchmarks/support/results.hpp"

namespace triax::benchmark {

/// "1.2 ms", "273 GFLOP/s", "1.3 GB": three digits, of seconds from 1000 all, and the unit that the
/// name of a figure says.
std::string seconds_text(double seconds);
std::string figure_text(const std::string& name, double value);

/// A row of a Markdown table.
std::string row(std::vector<std::string> cells);
/// Its first row, and the line below.
std::string head(const std::vector<std::string>& names);

/// What the fractions of these cases are of: "triad", or "the limit" where they do not all say one.
std::string limit_of(const std::vector<const Case*>& cases);

/// One row a case: time, how far runs lie apart, rate and fraction of the limit. Of several files:
/// for each case a row a file, one that says so where a file lacks it, and the time of the first
/// file over its own.
std::string case_table(const std::vector<const Case*>& cases,
                       const std::vector<std::string>& files);

/// One case by several programs, the first of which the others are held against (the one named
/// triax, where there is one): seconds, rate, memory, ratio, and how far first losses lie apart.
std::string peer_table(std::vector<const Case*> programs);

/// A series by growing numbers of cores: the rate, and what a core has of it against the fewest.
std::string scaling_table(std::vector<const Case*> points);

}  // namespace triax::benchmark
