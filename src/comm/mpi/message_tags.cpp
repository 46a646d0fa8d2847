// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi/message_tags.hpp"

#include <mpi.h>

#include "kernels/base/mpi/mpi_error.hpp"

namespace triax {

// MPI_TAG_UB is read from MPI_COMM_WORLD: Open MPI sets the attribute there only.
int largest_message_tag(std::string_view where) {
  int* bound = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &found),
            "MPI_Comm_get_attr", where);
  constexpr int bound_of_the_standard = 32767;
  return (found != 0 ? *bound : bound_of_the_standard) - 1;
}

}  // namespace triax
