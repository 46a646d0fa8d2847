// SPDX-License-Identifier: Apache-2.0
#pragma once
// Agreement of ranks on failures, so that a collective operation succeeds or throws on all of them.
#include <mpi.h>

#include <concepts>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "kernels/base/mpi/wait.hpp"

namespace triax {

/// Ranks that act on files together; MPI_COMM_NULL stands for one process. `watch` receives their
/// waits for each other and may be null.
struct Ranks {
  // NOLINTNEXTLINE(google-explicit-constructor): a communicator is its ranks
  Ranks(MPI_Comm ranks, WaitWatch* waits = nullptr);
  /// All ranks of a grid.
  template <class Grid>
  requires requires(const Grid& grid) {
    { grid.mpi() } -> std::same_as<MPI_Comm>;
    { grid.watch() } -> std::same_as<WaitWatch*>;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a grid is its ranks
  Ranks(const Grid& grid) : Ranks(grid.mpi(), grid.watch()) {}

  MPI_Comm comm;
  WaitWatch* watch;
  int rank = 0;  // of this process
  int size = 1;
};

/// Whose a failure is: a user's mistake is a UsageError, all else an Error.
enum class FailureKind : std::uint8_t { run_time, usage };

/// Collective. `failure` is this rank's error text, empty if it had none. If any rank failed,
/// throws Error or UsageError on every rank, with the text and kind of the lowest rank that failed.
/// Waiting yields the core.
void agree(const Ranks& ranks, const std::string& failure,
           FailureKind kind = FailureKind::run_time);

/// Error text for the user. std::bad_alloc becomes an Error text that names memory limits and
/// remedies.
std::string failure_text(const std::exception& error);

/// Runs `action`, which need not be collective, and agrees on its outcome.
template <class Action>
void agreed(const Ranks& ranks, Action&& action) {
  std::string failure;
  FailureKind kind = FailureKind::run_time;
  try {
    const FileScope working(ranks.watch);
    action();
  } catch (const UsageError& error) {
    failure = error.what();
    kind = FailureKind::usage;
  } catch (const std::exception& error) {
    failure = failure_text(error);
  }
  agree(ranks, failure, kind);
}

/// Collective. Returns the text of rank `root` on every rank. Waiting yields the core.
std::string broadcast_text(const Ranks& ranks, std::string text, int root = 0);

/// Collective. Adds the ranks' values element by element, modulo 2^64; every rank gets the sums.
/// `values` has the same length on every rank. Waiting yields the core.
void sum_over_ranks(const Ranks& ranks, std::span<std::uint64_t> values);
/// Collective sum of floating-point numbers. Exact where at most one rank's element is not 0.
void sum_over_ranks(const Ranks& ranks, std::span<double> values);

/// Collective. Copies the values of rank `root` to every rank; the length is the same on all ranks.
/// Waiting yields the core.
void broadcast_numbers(const Ranks& ranks, std::span<std::int64_t> values, int root);

/// Collective. Returns the values of all ranks in rank order; the length of `values` is the same on
/// all ranks. Waiting yields the core.
std::vector<std::int64_t> gather_over_ranks(const Ranks& ranks,
                                            std::span<const std::int64_t> values);

}  // namespace triax
