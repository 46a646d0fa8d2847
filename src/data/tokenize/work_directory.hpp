// SPDX-License-Identifier: Apache-2.0
#pragma once
// PREFIX.tokenize: the directory of a job's parts, from its start until its files have their names.
#include <memory>
#include <string>

#include "io/files/file_lock.hpp"
#include "src/data/tokenize/options.hpp"

namespace triax {

/// State of a job's outputs before it starts.
enum class Found : std::uint8_t {
  nothing,  // or parts of this job, or of another that was never finished
  done,     // the files of this job
};

/// UsageError where a file of another job, or of unknown origin, has a name of the outputs; files
/// of a job that was killed while they got their names are its own.
Found look_for_outputs(const TokenizeOptions& options, const std::string& job);

/// Removes what a job left that was killed when its files had their names already.
void remove_remains(const std::string& prefix, const std::string& job);

/// Held by one process while all ranks work.
class WorkDirectory {
 public:
  /// Creates the directory, or continues in it where it is of job `job`; of another job it is
  /// emptied first. Error where another process works in it.
  WorkDirectory(const std::string& prefix, const std::string& job);
  /// Removes the directory.
  void remove();

  static std::string path_of(const std::string& prefix) { return prefix + ".tokenize"; }

 private:
  std::string path_;
  std::unique_ptr<DirectoryLock> lock_;
};

}  // namespace triax
