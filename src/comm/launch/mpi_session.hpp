#pragma once
// MPI from the start of main() to its end.
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
/// A return from main() waits for all ranks, so it is for errors that every rank meets; abort() is
/// for those that one rank may meet alone. A session that ends by an exception passing through
/// aborts the job too: the other ranks may be waiting for this one.
class MpiSession {
 public:
  MpiSession(int* argc, char*** argv);
  /// Without MPI, for what one process does, also where a launcher started several: rank 0 says
  /// what is wrong.
  struct Alone {
    int rank = 0;
  };
  explicit MpiSession(Alone);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// After an error: true once all ranks have come here, as they do when all met it, or have ended;
  /// false when some have not within so many seconds, and may be waiting for this rank: abort()
  /// then.
  bool all_arrive(double patience = 2.0);
  /// After all_arrive() was true: whether any rank says so, or one does not come to say it within
  /// so many seconds.
  bool any(bool own, double patience = 2.0);

  /// How long a rank that has ended waits for the others to end; then the job ends with status 3.
  /// Without: for ever.
  void end_within(double seconds) { limit_ = seconds; }
  /// The status of a process that MPI does not let go although all ranks have ended.
  void ends_with(int status) { status_ = status; }

  /// Ends every rank of the job at once; mpiexec's exit status is `status`.
  [[noreturn]] void abort(int status) const;

 private:
  MPI_Comm exit_ = MPI_COMM_NULL;  // for leaving together, apart from all other messages
  bool arrived_ = false;
  int said_ = 0, heard_ = 0;  // of any(): MPI may still use them after it has given up
  double limit_ = std::numeric_limits<double>::infinity();  // seconds
  int exceptions_;                                          // under way when the session began
  int status_ = 0;
  int rank_ = 0;
  int size_ = 1;
};

/// "MPICH Version: 4.0.2": the first line of what the MPI library calls itself. Before MPI starts,
/// too.
std::string mpi_library();

}  // namespace triax
