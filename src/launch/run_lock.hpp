// SPDX-License-Identifier: Apache-2.0
#pragma once
// The directories of a run, for this run alone.
#include <memory>
#include <string>
#include <vector>

#include "io/files/file_lock.hpp"
#include "src/config/config.hpp"

namespace triax {

/// Makes the directory that the job names under `key`. Error where it cannot be written: better at
/// the start than at the first file.
void check_writable(const std::string& directory, const char* key);

/// Makes run.directory and the checkpoints' directory where they are not there, holds both until it
/// goes, and removes what a killed run left half written in the latter. Rank 0 only, before
/// anything is read there. Error where a directory cannot be written, or another run works in it.
/// Where the file system has no locks, a warning. Directories that it made and that nothing was
/// written to go with it. `patience`: as of DirectoryLock.
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
