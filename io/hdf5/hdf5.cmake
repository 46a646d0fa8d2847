# triax_check_hdf5_mpi(): ends where the HDF5 that was found is built on another kind of MPI than the one that was: programs of
# both link, and fail when they open a file. By the number in libmpi's name, which all of MPICH's relatives share (12), and all
# releases of Open MPI since 2 and 3 (20, 40); it says nothing of static libraries.
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

# Sets RESULT to the name of the MPI library that the first of LIBRARY... which speaks of one has in its dynamic section under
# TAG, and RESULT_number to the number in it; to nothing where none does.
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
