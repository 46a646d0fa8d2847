// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi/shared_slots.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "kernels/base/mpi/mpi_error.hpp"
#include "kernels/base/mpi/wait.hpp"
#include "src/comm/mpi/owned_handle.hpp"

namespace triax {
namespace {

// Gathers `own` from every rank, in rank order.
template <std::size_t N>
std::vector<std::array<std::int64_t, N>> gathered(MPI_Comm ranks, int size,
                                                  const std::array<std::int64_t, N>& own,
                                                  const std::string& where) {
  std::vector<std::array<std::int64_t, N>> all(static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(own.data(), static_cast<int>(N), MPI_INT64_T, all.data(),
                           static_cast<int>(N), MPI_INT64_T, ranks, &request),
            "MPI_Iallgather", where);
  check_mpi(wait_for(request, WaitPolicy::yield), "MPI_Iallgather", where);
  return all;
}

// The rank in MPI_COMM_WORLD of rank `rank` of `ranks`, as the launcher numbers it.
int rank_of_job(MPI_Comm ranks, int rank, const std::string& where) {
  OwnedGroup all, some;
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, all.address()), "MPI_Comm_group", where);
  check_mpi(MPI_Comm_group(ranks, some.address()), "MPI_Comm_group", where);
  int found = rank;
  check_mpi(MPI_Group_translate_ranks(some.get(), 1, &rank, all.get(), &found),
            "MPI_Group_translate_ranks", where);
  return found;
}

}  // namespace

SharedSlots::SharedSlots(MPI_Comm ranks, const char* label, std::size_t bytes,
                         const std::string& where) {
  int own = 0;
  int size = 1;
  check_mpi(MPI_Comm_rank(ranks, &own), "MPI_Comm_rank", where);
  check_mpi(MPI_Comm_size(ranks, &size), "MPI_Comm_size", where);
  std::vector<SharedMemory> slots(static_cast<std::size_t>(size));
  SharedMemory& mine = slots[static_cast<std::size_t>(own)];
  mine = SharedMemory::make(label, bytes);
  const auto names = gathered(ranks, size, mine.name(), where);
  std::int64_t error = mine.error();
  for (std::size_t r = 0; r < slots.size() && error == 0; ++r) {
    if (&slots[r] == &mine || names[r] == SharedMemory::Name{}) continue;
    slots[r] = SharedMemory::open(names[r], bytes);
    error = slots[r].error();
  }
  const auto errors = gathered(ranks, size, std::array{error}, where);
  mine.close_to_others();  // all ranks have opened it by now
  for (std::size_t r = 0; r < slots.size() && refusal_.empty(); ++r)
    if (errors[r][0] != 0)
      refusal_ = fmt::format("rank {}: {}", rank_of_job(ranks, static_cast<int>(r), where),
                             std::strerror(static_cast<int>(errors[r][0])));
  if (refusal_.empty()) slots_ = std::move(slots);
}

}  // namespace triax
