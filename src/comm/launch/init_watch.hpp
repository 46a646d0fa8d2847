#pragma once
// A limit on the wait for the other processes in MPI_Init, which has none of its own.
#include <optional>

#include "src/comm/launch/timer.hpp"

namespace triax {

/// Lives while MPI starts. A process of the job that never calls MPI_Init, or calls another
/// library's, keeps all others there, without a word: after a minute that is said, and after
/// TRIAX_START_TIMEOUT (seconds, 600 by default: the job, which may say run.collective_timeout, is
/// not read yet) this process ends with status 3, upon which the launcher ends the others.
class InitWatch {
 public:
  /// UsageError where TRIAX_START_TIMEOUT is no number of seconds from 0.1 to 1e9.
  InitWatch();

 private:
  std::optional<Timer> notice_, limit_;
};

}  // namespace triax
