// SPDX-License-Identifier: Apache-2.0
#include "src/comm/launch/isa_of_job.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "kernels/base/mpi/wait.hpp"

namespace triax {

Isa common_isa(std::span<const int, isa_kinds> ranks) {
  const auto first = std::find_if(ranks.begin(), ranks.end(), [](int count) { return count > 0; });
  return static_cast<Isa>(std::min<std::ptrdiff_t>(first - ranks.begin(), isa_kinds - 1));
}

std::string agree_on_isa(MPI_Comm world) {
  std::array<int, isa_kinds> ranks{};
  ranks[static_cast<std::size_t>(isa_in_use())] = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Iallreduce(MPI_IN_PLACE, ranks.data(), isa_kinds, MPI_INT, MPI_SUM, world, &request),
      "MPI_Iallreduce", "all ranks");
  check_mpi(wait_for(request, WaitPolicy::yield), "MPI_Iallreduce", "all ranks");
  const Isa isa = common_isa(ranks);
  use_isa(isa);
  const int all = std::accumulate(ranks.begin(), ranks.end(), 0);
  const int these = ranks[static_cast<std::size_t>(isa)];
  if (these == all) return text_of(isa);
  return fmt::format("{}, since {} of {} ranks have no more", text_of(isa), these, all);
}

}  // namespace triax
