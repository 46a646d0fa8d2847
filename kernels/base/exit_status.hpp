// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exit statuses of triax, a promise to scripts (jobs/guides/faults.md).

namespace triax {

/// Wrong job file or command line: the same command fails again.
inline constexpr int usage_failure = 2;
/// Failure while running: I/O, a loss that is not finite, a lost rank.
inline constexpr int run_time_failure = 3;
/// Stopped by a signal or the clock, to be run again (EX_TEMPFAIL of sysexits.h).
inline constexpr int stopped_early = 75;

}  // namespace triax
