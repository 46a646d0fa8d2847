// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limit on the wait for other processes in MPI_Init, which has none itself.
#include <optional>

#include "src/comm/launch/timer.hpp"

namespace triax {

/// Lives while MPI starts. A process of the job that never calls MPI_Init, or that of another MPI
/// library, blocks all others silently. This is reported after a minute. After TRIAX_START_TIMEOUT
/// (seconds, default 600) this process ends with status 3, upon which the launcher ends the others.
/// The job's run.collective_timeout is not read yet at that point.
class InitWatch {
 public:
  /// UsageError if TRIAX_START_TIMEOUT is not a number of seconds from 0.1 to 1e9.
  InitWatch();

 private:
  std::optional<Timer> notice_, limit_;
};

}  // namespace triax
