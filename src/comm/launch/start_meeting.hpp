#pragma once
// The first meeting of a job's ranks, before there is a grid with a watchdog.
#include <string>
#include <vector>

#include "src/comm/mpi/owned_handle.hpp"

namespace triax {

/// The ranks read their job each for itself, and a file system may keep one of them for ever, or
/// show it another file. No collective of MPI says which one is missing: here each tells rank 0
/// that it has come, or why it cannot.
class StartMeeting {
 public:
  /// Collective, before anything is read that may keep a rank: all learn where the others run.
  /// A rank that cannot go on waits `patience_of_failed` seconds for rank 0, which may be the one
  /// that never comes.
  explicit StartMeeting(MPI_Comm world, double patience_of_failed = 15.0);
  /// Each rank once, or fail(): returns when all have come. Where a rank has waited `seconds` for
  /// another, the job ends with status 3, and it is said which ranks are missing and where they
  /// run. Time in which this process was stopped does not count. Where another has failed, throws
  /// on all ranks alike, soon after: a UsageError for a failure of usage_failure, else an Error.
  void meet(double seconds) const;
  /// In place of meet(), where this rank cannot go on, for this reason and with this status: throws
  /// as meet() does. Where rank 0 is not there to hear it, what this rank has met.
  [[noreturn]] void fail(const std::string& why, int status) const;

 private:
  struct Failure;
  class Arrivals;
  void gather(double seconds, const Failure& own) const;
  void report(double seconds, const Failure& own) const;
  [[noreturn]] void end(const std::vector<int>& missing, double seconds) const;

  double patience_of_failed_;
  OwnedComm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::string> hosts_;  // by rank
};

/// "rank 3 on node7, rank 4 on node7 and 12 more": the first few of ascending `ranks`.
std::string ranks_on_hosts(const std::vector<int>& ranks, const std::vector<std::string>& hosts);

}  // namespace triax
