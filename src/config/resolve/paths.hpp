#pragma once
// Where the files that a job names are found.
#include <string>
#include <vector>

#include "src/config/keys/settings.hpp"

namespace triax {

/// The files of data.train or data.valid, each as the pattern of its name alone (pattern_of):
/// patterns expanded, each one's matches sorted (of a Megatron pair the .bin alone; ** is an error,
/// and so is what is no regular file). A Megatron prefix, which names its .bin and .idx and no file
/// itself, stands for the pair. What matches nothing, or cannot be looked at, is kept as written,
/// and named in `missing`.
std::vector<std::string> data_files(Settings& settings, const std::string& key,
                                    const std::string& job_file, ErrorList& errors,
                                    ErrorList& missing);

/// Warns of files that are in data.train more than once (an .idx is its .bin), and of those of
/// data.valid that are in data.train; links to a file are that file.
void warn_of_repeated(Settings& settings, const std::vector<std::string>& train,
                      const std::vector<std::string>& valid);

}  // namespace triax
