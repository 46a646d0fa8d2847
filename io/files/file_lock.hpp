#pragma once
// One process at a time at a place on a disk.
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace triax {

/// Holds a lock file (flock(2)) until it goes, or its process ends in whatever way: a lock file
/// that was left behind is no obstacle. The file names host and process of its holder.
class FileLock {
 public:
  /// Some file systems let go of a lock seconds after its process was killed.
  static constexpr std::chrono::milliseconds usual_patience{5000};
  /// What becomes of the file when the lock goes.
  enum class Leaves : std::uint8_t { file, nothing };

  /// Makes the file `path` where it is not there. Error where another process holds it for all of
  /// `patience`: `held` is the problem, then comes who it is; `remedy` says what to do.
  FileLock(std::string path, const std::string& held, const std::string& remedy,
           std::chrono::milliseconds patience, Leaves leaves);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Why there is no lock, where the file system has none, or one for each node alone (some network
  /// file systems): work may go on without; empty where it is held.
  const std::string& refusal() const { return refusal_; }
  /// "process 7 on host", where another host's holder let go of the lock without a word: it was
  /// killed, or it holds it still, on a file system whose locks other nodes do not see.
  const std::string& left_by() const { return left_by_; }
  /// The file goes with the lock, whatever it was made with.
  void leave_nothing() { leaves_ = Leaves::nothing; }

 private:
  std::string path_;
  Leaves leaves_;
  int fd_ = -1;
  std::string refusal_, left_by_;
};

/// The option by which the file system of `path`, an absolute name, keeps locks to the node that
/// takes them: "localflock" of Lustre, "nolock" and "local_lock=" of NFS; empty: none. `mounts` as
/// /proc/self/mounts.
std::string node_local_locks(const std::string& path, std::istream& mounts);

/// One run at a time in a directory, which must be there: holds "<directory>/.lock".
class DirectoryLock : public FileLock {
 public:
  DirectoryLock(const std::string& directory, const std::string& remedy,
                std::chrono::milliseconds patience = usual_patience)
      : FileLock(directory + "/.lock", "another run works in " + directory, remedy, patience,
                 Leaves::file) {}
};

}  // namespace triax
