#pragma once
// One run at a time in a directory.
#include <string>

namespace triax {

/// Holds "<directory>/.lock" (flock(2)) until it goes, or its process ends in whatever way: a lock
/// file that was left behind is no obstacle. The file names host and process of its holder.
class DirectoryLock {
 public:
  /// The directory must be there. Error where another process holds the lock, naming it; `remedy`
  /// says what to do then.
  DirectoryLock(const std::string& directory, const std::string& remedy);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  /// Why there is no lock, where the file system has none (some network file systems): the run may
  /// go on without; empty where it is held.
  const std::string& refusal() const { return refusal_; }

 private:
  int fd_ = -1;
  std::string refusal_;
};

}  // namespace triax
