#pragma once
// One run at a time in a directory.
#include <chrono>
#include <string>

namespace triax {

/// Holds "<directory>/.lock" (flock(2)) until it goes, or its process ends in whatever way: a lock
/// file that was left behind is no obstacle. The file names host and process of its holder.
class DirectoryLock {
 public:
  /// Some file systems let go of a lock seconds after its process was killed.
  static constexpr std::chrono::milliseconds usual_patience{5000};

  /// The directory must be there. Error where another process holds the lock for all of `patience`,
  /// naming it; `remedy` says what to do then.
  DirectoryLock(const std::string& directory, const std::string& remedy,
                std::chrono::milliseconds patience = usual_patience);
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
