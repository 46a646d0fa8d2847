// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exclusive locks on the directories of a run.
#include <memory>
#include <string>
#include <vector>

#include "io/files/file_lock.hpp"
#include "src/config/config.hpp"

namespace triax {

/// Creates `directory`, named by the job's `key`. Error if it cannot be written: found at the start
/// instead of at the first file.
void check_writable(const std::string& directory, const char* key);

/// Creates run.directory and, if the run owns it, checkpoint.directory; locks both as long as the
/// object lives; removes unfinished checkpoints of a killed run. Rank 0 only, before anything is
/// read there. Error if a directory cannot be written or another run has locked it. Warns if the
/// file system has no locks. Directories that it created and that stay empty are removed with it.
/// `patience`: see DirectoryLock.
class RunLock {
 public:
  explicit RunLock(const Config& config,
                   std::chrono::milliseconds patience = DirectoryLock::usual_patience);

  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  class Place;
  void release();
  void take(const std::string& directory, const char* key);

  std::chrono::milliseconds patience_;
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace triax
