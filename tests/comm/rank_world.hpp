// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the tests of MpiCommunicator: a communicator of all ranks, and tensors filled by a
// function.
#include <mpi.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "src/comm/host/mpi_communicator.hpp"

namespace triax {

/// The stream of all messages of a test.
inline const Stream stream;

inline MpiCommunicator world_communicator() {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
  static_cast<void>(wait_for(request, WaitPolicy::yield));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return {copy, WaitPolicy::yield, "rank " + std::to_string(rank) + " of the test"};
}

template <class T>
Tensor view(std::vector<T>& values) {
  return Tensor(values.data(), {static_cast<std::int64_t>(values.size())});
}

/// n values; value i is value(i).
template <class T>
std::vector<T> filled(std::int64_t n, const std::function<T(std::int64_t)>& value) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = value(i);
  return values;
}

/// Small whole numbers that differ between ranks and elements. Their sums over 8 ranks are exact in
/// every reducible type (below 256 for u8).
template <class T>
T number(int rank, std::int64_t i) {
  return static_cast<T>((rank + 1) * (i % 5 + 1));
}

/// Sum over ranks of number(rank, i).
template <class T>
T sum_of_numbers(int ranks, std::int64_t i) {
  return static_cast<T>(ranks * (ranks + 1) / 2 * (i % 5 + 1));
}

}  // namespace triax
