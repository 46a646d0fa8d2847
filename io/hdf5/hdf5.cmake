# SPDX-License-Identifier: Apache-2.0
# triax_check_hdf5_mpi(): fails where HDF5 is built on another MPI library than the one found: a program with both links, but
# fails when it opens a file. It compares the numbers in libmpi's soname: 12 for MPICH and its relatives, 20 for Open MPI 2, 40
# for Open MPI 3 and later. Static libraries are not checked.
function(triax_check_hdf5_mpi)
  triax_mpi_of(hdf5 NEEDED ${HDF5_C_LIBRARIES})
  triax_mpi_of(mpi SONAME ${MPI_C_LIBRARIES})
  if(hdf5 AND mpi AND NOT "${hdf5_number}" STREQUAL "${mpi_number}")
    list(GET HDF5_C_LIBRARIES 0 library)
    message(FATAL_ERROR "HDF5 (${library}) is built on ${hdf5}, and the MPI that was found is ${mpi}. In an empty build "
      "folder, load one module of both, or point MPI_C_COMPILER and MPI_CXX_COMPILER at the wrappers of one MPI and "
      "HDF5_C_COMPILER_EXECUTABLE at the h5pcc of an HDF5 on it (Debian: /usr/bin/mpicc.mpich, mpicxx.mpich, h5pcc.mpich).")
  endif()
endfunction()

# triax_mpi_of(RESULT TAG LIBRARY...): searches the dynamic sections of the libraries for the first entry TAG that names an MPI
# library. Sets RESULT to that name and RESULT_number to the number in it; RESULT is empty where there is none.
macro(triax_mpi_of result tag)
  set(${result} "")
  foreach(library IN ITEMS ${ARGN})
    if(NOT ${result} AND EXISTS "${library}" AND library MATCHES "[.]so" AND CMAKE_READELF)
      execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE dynamic ERROR_QUIET)
      if(dynamic MATCHES "\\(${tag}\\)[^\n]*\\[(libmpi[a-z_0-9]*[.]so[.]([0-9]+))")
        set(${result} ${CMAKE_MATCH_1})
        set(${result}_number ${CMAKE_MATCH_2})
      endif()
    endif()
  endforeach()
endmacro()
