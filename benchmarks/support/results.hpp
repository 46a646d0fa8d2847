// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reader of the lines that benchmarks print.
#include <string>
#include <utility>
#include <vector>

namespace triax::benchmark {

/// One line: one run of a case.
struct Run {
  double seconds = 0, spread = 0;
  std::vector<std::pair<std::string, double>> figures;  // other numbers, in the line's order
  std::string slowest;  // host of the slowest rank; empty if the line does not name it
  /// The figure of this name; `otherwise` if the line has none.
  double figure(const std::string& name, double otherwise = 0.0) const;
  /// The first figure whose name ends in "_per_second"; an empty name if there is none.
  std::pair<std::string, double> rate() const;
};

/// How many times as long a run takes as another. Compares rates if both have the same one, because
/// a case may move another amount on another machine.
double times_as_long(const Run& run, const Run& other);

/// All runs of a case in one file.
struct Case {
  std::string benchmark, name, program, series;
  std::string limit;      // what peak_fraction is relative to; empty if the line does not say
  std::size_t file = 0;   // index in the list
  std::vector<Run> runs;  // fastest first, at least one
  /// The run of median time; of an even number the faster of the middle two.
  const Run& median() const { return runs[(runs.size() - 1) / 2]; }
};

/// A line of the benchmark "machine": facts by name.
struct Machine {
  std::size_t file = 0;
  std::vector<std::pair<std::string, std::string>> facts;
};

/// Contents of files of lines.
struct Results {
  std::vector<Case> cases;
  std::vector<Machine> machines;
  std::vector<std::string> refused;  // text and position of lines that are not a benchmark's
};

/// Reads the cases of all files, in the order of their first lines. Lines of one file with the same
/// benchmark, case, program, cores and series are runs of one case. Lines of other programs (as
/// from a cut job) and files without lines are left out.
Results read_results(const std::vector<std::string>& files);

}  // namespace triax::benchmark
