// SPDX-License-Identifier: Apache-2.0
#pragma once
// First meeting of a job's ranks, before a grid with a watchdog exists.
#include <string>
#include <vector>

#include "src/comm/mpi/owned_handle.hpp"

namespace triax {

/// Each rank reads the job by itself, and a file system may block one of them for ever or show it
/// another file. No MPI collective names a missing rank. Here each rank reports to rank 0 that it
/// has come, or why it cannot continue.
class StartMeeting {
 public:
  /// Collective; call it before reading anything that may block a rank. All ranks learn the others'
  /// hosts. A failed rank waits `patience_of_failed` seconds for rank 0, which may be the one that
  /// never comes.
  explicit StartMeeting(MPI_Comm world, double patience_of_failed = 15.0);
  /// Each rank calls meet() or fail() once. Returns when all have come. If a rank is missing after
  /// `seconds`, the job ends with status 3 and a message that names the missing ranks and their
  /// hosts. Time in which this process was stopped does not count. If a rank has failed, throws
  /// soon afterwards, the same on all ranks: UsageError for status usage_failure, else Error.
  void meet(double seconds) const;
  /// Reports that this rank cannot continue, and why. Throws as meet() does; if rank 0 does not
  /// answer, throws this rank's own failure.
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

/// "rank 3 on node7, rank 4 on node7 and 12 more": the first 8 of ascending `ranks`.
std::string ranks_on_hosts(const std::vector<int>& ranks, const std::vector<std::string>& hosts);

}  // namespace triax
