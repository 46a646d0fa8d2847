#pragma once
// Tables of results, in Markdown.
#include <string>
#include <vector>

#include "benchmarks/support/results.hpp"

namespace triax::benchmark {

/// "1.2 ms", "273 GFLOP/s", "1.3 GB": three digits, and the unit that the name of a figure says.
std::string seconds_text(double seconds);
std::string figure_text(const std::string& name, double value);

/// One row a case: time, how far runs lie apart, rate and fraction of the limit. Of several files:
/// a row a file, and the time of the first file over its own.
std::string case_table(const std::vector<const Case*>& cases,
                       const std::vector<std::string>& files);

/// One case by several programs, the first of which the others are held against (the one named
/// triax, where there is one): seconds, rate, memory, ratio, and how far first losses lie apart.
std::string peer_table(std::vector<const Case*> programs);

/// A series by growing numbers of cores: the rate, and what a core has of it against the fewest.
std::string scaling_table(std::vector<const Case*> points);

}  // namespace triax::benchmark
