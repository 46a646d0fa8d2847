#pragma once
// MPI return codes as errors that a user can act on.
#include <mpi.h>

#include <string_view>

namespace triax {

/// Throws Error: "`call` failed on `where` (MPI's text). ...". `where` names the rank, its place in
/// the grid and the group.
[[noreturn]] void throw_mpi_error(int code, std::string_view call, std::string_view where);

/// Nothing where `code` is MPI_SUCCESS, else throw_mpi_error.
inline void check_mpi(int code, std::string_view call, std::string_view where) {
  if (code != MPI_SUCCESS) [[unlikely]]
    throw_mpi_error(code, call, where);
}

}  // namespace triax
