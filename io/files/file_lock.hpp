// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lock files: one process at a time in a directory or at an output path.
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace triax {

/// Holds a lock (flock(2)) on a file until it is destroyed or its process ends, so that a lock file
/// left behind blocks nobody. The file contains the host and pid of its holder.
class FileLock {
 public:
  /// Some file systems release a lock only seconds after its process was killed.
  static constexpr std::chrono::milliseconds usual_patience{5000};
  /// Whether the lock file stays when the lock is released.
  enum class Leaves : std::uint8_t { file, nothing };

  /// Creates the file `path` if it is absent. Error where another process holds the lock for all of
  /// `patience`: `held` is the problem, the holder the reason, `remedy` the advice.
  FileLock(std::string path, const std::string& held, const std::string& remedy,
           std::chrono::milliseconds patience, Leaves leaves);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Empty where the lock is held. Otherwise the reason: the file system has no locks, or (some
  /// network file systems) only node-local ones. The caller may go on without the lock.
  const std::string& refusal() const { return refusal_; }
  /// "process 7 on host": the holder on another host did not clear its text. It was killed, or
  /// still holds the lock on a file system whose locks other nodes do not see. Else empty.
  const std::string& left_by() const { return left_by_; }
  /// Removes the file with the lock, whatever the constructor was given.
  void leave_nothing() { leaves_ = Leaves::nothing; }

 private:
  std::string path_;
  Leaves leaves_;
  int fd_ = -1;
  std::string refusal_, left_by_;
};

/// Mount option that makes locks of the file system of `path` (absolute) node-local: "localflock"
/// of Lustre, "nolock" and "local_lock=" of NFS; empty: none. `mounts`: the text of
/// /proc/self/mounts.
std::string node_local_locks(const std::string& path, std::istream& mounts);

/// Keeps a second run out of an existing directory: holds "<directory>/.lock".
class DirectoryLock : public FileLock {
 public:
  DirectoryLock(const std::string& directory, const std::string& remedy,
                std::chrono::milliseconds patience = usual_patience)
      : FileLock(directory + "/.lock", "another run works in " + directory, remedy, patience,
                 Leaves::file) {}
};

}  // namespace triax
