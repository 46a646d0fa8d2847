// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI from its initialisation to its end, as an object of main().
#include <mpi.h>

#include <limits>
#include <string>

namespace triax {

/// Starts MPI (MPI_THREAD_FUNNELED: the main thread alone speaks to it,
/// but for the MPI_Abort of a watchdog) and ends it. Works under
/// mpiexec, srun, and as a plain single process. Exactly one lives in a process. main() declares it
/// outside its try block:
///
///     MpiSession session(&argc, &argv);
///     try { ...; return 0; } catch (const Error& e) { print(e); session.abort(3); }
///
/// A return from main() waits for all ranks, so it is for errors that every rank meets. abort() is
/// for errors that one rank may meet alone. If an exception leaves the session's scope, the job is
/// aborted too, since other ranks may be waiting for this one.
class MpiSession {
 public:
  MpiSession(int* argc, char*** argv);
  /// Starts no MPI: for commands of a single process. If a launcher started several, rank 0 reports
  /// errors.
  struct Alone {
    int rank = 0;
  };
  explicit MpiSession(Alone);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// For use after an error. True once all ranks have called it (all met the error) or have ended;
  /// false if some have not within `patience` seconds. They may be waiting for this rank: call
  /// abort() then.
  bool all_arrive(double patience = 2.0);
  /// Call after all_arrive() returned true. True if any rank passes true, or if one does not call
  /// within `patience` seconds.
  bool any(bool own, double patience = 2.0);

  /// Seconds a finished rank waits for the others; then the job ends with status 3. Default: no
  /// limit.
  void end_within(double seconds) { limit_ = seconds; }
  /// Exit status of a process that hangs in MPI_Finalize although all ranks have ended.
  void ends_with(int status) { status_ = status; }

  /// Ends every rank of the job at once; mpiexec's exit status is `status`.
  [[noreturn]] void abort(int status) const;

 private:
  MPI_Comm exit_ = MPI_COMM_NULL;  // separate from all other messages
  bool arrived_ = false;
  int own_flag_ = 0, any_flag_ = 0;  // buffers of any(): MPI may use them after a timeout
  double limit_ = std::numeric_limits<double>::infinity();  // seconds
  int exceptions_;                                          // exceptions under way at construction
  int status_ = 0;
  int rank_ = 0;
  int size_ = 1;
};

/// First line of the MPI library's own version text: "MPICH Version: 4.0.2". Callable before MPI is
/// started.
std::string mpi_library();

}  // namespace triax
