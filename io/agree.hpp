#pragma once
// Failures of one rank told to all, so that a collective operation succeeds or throws everywhere.
#include <mpi.h>

#include <cstdint>
#include <exception>
#include <span>
#include <string>

namespace triax {

/// Collective. `failure` is this rank's error text, empty when it had none. Throws Error on every
/// rank, with the text of the lowest rank that failed, if any did. MPI_COMM_NULL stands for one
/// process. Waiting yields the core.
void agree(MPI_Comm comm, const std::string& failure);

/// Runs `action`, which need not be collective, and agrees on its outcome.
template <class Action>
void agreed(MPI_Comm comm, Action&& action) {
  std::string failure;
  try {
    action();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  agree(comm, failure);
}

/// Collective. Adds up the ranks' values, element by element, modulo 2^64; all ranks get the sums,
/// and each must give as many. MPI_COMM_NULL stands for one process. Waiting yields the core.
void sum_over_ranks(MPI_Comm comm, std::span<std::uint64_t> values);
/// Likewise of floating-point numbers. Exact where no more than one rank's is not 0.
void sum_over_ranks(MPI_Comm comm, std::span<double> values);

}  // namespace triax
