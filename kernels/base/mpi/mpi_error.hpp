// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI return codes turned into errors a user can act on.
#include <mpi.h>

#include <string_view>

namespace triax {

/// Throws Error "`call` failed on `where` (MPI's text) ...". `where` names the rank, its grid
/// coordinates and the group.
[[noreturn]] void throw_mpi_error(int code, std::string_view call, std::string_view where);

/// Returns if `code` is MPI_SUCCESS, else calls throw_mpi_error().
inline void check_mpi(int code, std::string_view call, std::string_view where) {
  if (code != MPI_SUCCESS) [[unlikely]]
    throw_mpi_error(code, call, where);
}

}  // namespace triax
