// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI's non-blocking calls with the widest counts of this library: 64 bits from MPI 4 on, int
// before.
#include <mpi.h>

#include <cstdint>
#include <limits>

#include "kernels/base/check.hpp"

namespace triax::mpi {

#if MPI_VERSION >= 4
using Count = MPI_Count;
inline constexpr auto iallreduce = MPI_Iallreduce_c;
inline constexpr auto ireduce_scatter_block = MPI_Ireduce_scatter_block_c;
inline constexpr auto iallgather = MPI_Iallgather_c;
inline constexpr auto ibcast = MPI_Ibcast_c;
inline constexpr auto type_contiguous = MPI_Type_contiguous_c;
inline constexpr auto isend = MPI_Isend_c;
inline constexpr auto irecv = MPI_Irecv_c;
#else
using Count = int;
inline constexpr auto iallreduce = MPI_Iallreduce;
inline constexpr auto ireduce_scatter_block = MPI_Ireduce_scatter_block;
inline constexpr auto iallgather = MPI_Iallgather;
inline constexpr auto ibcast = MPI_Ibcast;
inline constexpr auto type_contiguous = MPI_Type_contiguous;
inline constexpr auto isend = MPI_Isend;
inline constexpr auto irecv = MPI_Irecv;
#endif

/// `elements` as a count of type `C`; Error if it does not fit.
template <class C = Count>
C count_of(std::int64_t elements) {
  if (elements > static_cast<std::int64_t>(std::numeric_limits<C>::max()))
    throw Error(fmt::format("a message of {} elements is too long for this MPI", elements),
                fmt::format("MPI {}.{} counts in {} bytes", MPI_VERSION, MPI_SUBVERSION, sizeof(C)),
                "Build with an MPI 4 library (MPICH 4; not Open MPI 5), or use more ranks");
  return static_cast<C>(elements);
}

}  // namespace triax::mpi
