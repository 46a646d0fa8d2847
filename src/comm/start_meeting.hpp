#pragma once
// The first meeting of a job's ranks, before there is a grid with a watchdog.
#include <string>
#include <vector>

#include "src/comm/owned_handle.hpp"

namespace triax {

/// The ranks read their job each for itself, and a file system may keep one of them for ever.
/// No collective of MPI says which one is missing: here each tells rank 0 that it has come.
class StartMeeting {
 public:
  /// Collective, before anything is read that may keep a rank: all learn where the others run.
  explicit StartMeeting(MPI_Comm world);
  /// Collective, once: returns when all have come. Where a rank has waited `seconds` for another,
  /// the job ends with status 3, and it is said which ranks are missing and where they run. Time in
  /// which this process was stopped does not count.
  void meet(double seconds) const;

 private:
  MPI_Request send_to(int rank) const;
  MPI_Request receive_from(int rank) const;
  void wait_for_all(double seconds) const;
  void wait_for_first(double seconds) const;
  [[noreturn]] void end(const std::vector<int>& missing, double seconds) const;

  OwnedComm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::string> hosts_;  // by rank
};

/// "rank 3 on node7, rank 4 on node7 and 12 more": the first few of ascending `ranks`.
std::string ranks_on_hosts(const std::vector<int>& ranks, const std::vector<std::string>& hosts);

}  // namespace triax
