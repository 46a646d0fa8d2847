#pragma once
// Failures of one rank told to all, so that a collective operation succeeds or throws everywhere.
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

/// Ranks that act on files together: MPI_COMM_NULL stands for one process. `watch` is told of their
/// waits for each other; null: nobody is.
struct Ranks {
  // NOLINTNEXTLINE(google-explicit-constructor): a communicator is its ranks
  Ranks(MPI_Comm ranks, WaitWatch* waits = nullptr);
  /// All ranks of a grid.
  template <class Grid>
  requires requires(const Grid& grid) {
    { grid.mpi() } -> std::same_as<MPI_Comm>;
    { grid.watch() } -> std::same_as<WaitWatch*>;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): likewise
  Ranks(const Grid& grid) : Ranks(grid.mpi(), grid.watch()) {}

  MPI_Comm comm;
  WaitWatch* watch;
  int rank = 0;  // this one's
  int size = 1;
};

/// Whose a failure is: a user's mistake is a UsageError, all else an Error.
enum class FailureKind : std::uint8_t { run_time, usage };

/// Collective. `failure` is this rank's error text, empty when it had none. Throws Error, or
/// UsageError, on every rank, with the text and the kind of the lowest rank that failed, if any
/// did. Waiting yields the core.
void agree(const Ranks& ranks, const std::string& failure,
           FailureKind kind = FailureKind::run_time);

/// What went wrong, for the user: std::bad_alloc as an Error that says what to do.
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

/// Collective. The text of the rank `root`, on every rank. Waiting yields the core.
std::string broadcast_text(const Ranks& ranks, std::string text, int root = 0);

/// Collective. Adds up the ranks' values, element by element, modulo 2^64; all ranks get the sums,
/// and each must give as many. Waiting yields the core.
void sum_over_ranks(const Ranks& ranks, std::span<std::uint64_t> values);
/// Likewise of floating-point numbers. Exact where no more than one rank's is not 0.
void sum_over_ranks(const Ranks& ranks, std::span<double> values);

/// Collective. values = those of the rank `root`, as many on every rank. Waiting yields the core.
void broadcast_numbers(const Ranks& ranks, std::span<std::int64_t> values, int root);

/// Collective. The numbers of all ranks, one rank after the other; each gives as many. Waiting
/// yields the core.
std::vector<std::int64_t> gather_over_ranks(const Ranks& ranks,
                                            std::span<const std::int64_t> values);

}  // namespace triax
