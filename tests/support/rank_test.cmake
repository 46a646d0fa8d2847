# SPDX-License-Identifier: Apache-2.0
# Tests of one process and of several ranks. Every test program has the main of support/rank_main.cpp, which
# starts MPI and Kokkos, prints on rank 0, ends the job when one rank fails fatally, and fails when no test ran.

# Eight sources are compiled as one, which takes a third of their time apart: their names must differ. ALONE: of a
# program whose sources use the same names.
function(add_test_program name)
  cmake_parse_arguments(ARG "ALONE" "" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  if(NOT ARG_ALONE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  target_link_libraries(${name} PRIVATE triax_test_support ${ARG_LIBS})
  target_compile_definitions(${name} PRIVATE TRIAX_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_precompile_headers(${name} REUSE_FROM triax_test_support)
endfunction()

# add_unit_test(NAME [ALONE] sources... LIBS libs...)
function(add_unit_test name)
  add_test_program(${name} ${ARGN})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${TRIAX_TEST_ENVIRONMENT}")
endfunction()

# add_rank_test(NAME [ALONE] sources... LIBS libs... NP 1 2 4 8)
function(add_rank_test name)
  cmake_parse_arguments(ARG "" "" "LIBS;NP" ${ARGN})
  add_test_program(${name} ${ARG_UNPARSED_ARGUMENTS} LIBS ${ARG_LIBS})
  foreach(ranks IN LISTS ARG_NP)
    add_test(NAME ${name}.np${ranks}
             COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.np${ranks} PROPERTIES PROCESSORS ${ranks}
                         ENVIRONMENT "${TRIAX_TEST_ENVIRONMENT}")
  endforeach()
endfunction()

# add_emulated_rank_test(NAME sources... LIBS libs... NP 1 2 4): add_rank_test on the emulated device.
function(add_emulated_rank_test name)
  cmake_parse_arguments(ARG "" "" "LIBS;NP" ${ARGN})
  add_rank_test(${name} ${ARG_UNPARSED_ARGUMENTS} NP ${ARG_NP}
                LIBS triax_emulated_kernels triax_emulated_device ${ARG_LIBS})
endfunction()

# add_fake_nccl_rank_test(NAME sources... LIBS libs... NP 2 4 [CASES cases...]): add_emulated_rank_test with one device
# per rank (TRIAX_TEST_DEVICES=own) and the tests' own NCCL (fake_nccl.hpp), also where NCCL is not installed. CASES:
# tests to run, as in GTEST_FILTER; default all.
function(add_fake_nccl_rank_test name)
  cmake_parse_arguments(ARG "" "" "LIBS;NP;CASES" ${ARGN})
  set(filter)
  if(ARG_CASES)
    string(JOIN : filter ${ARG_CASES})
    set(filter "GTEST_FILTER=${filter}")
  endif()
  add_emulated_rank_test(${name} ${ARG_UNPARSED_ARGUMENTS} NP ${ARG_NP} LIBS triax_fake_nccl ${ARG_LIBS})
  foreach(ranks IN LISTS ARG_NP)
    set_tests_properties(${name}.np${ranks} PROPERTIES ENVIRONMENT "${TRIAX_TEST_ENVIRONMENT};TRIAX_TEST_DEVICES=own;${filter}")
  endforeach()
endfunction()

# add_device_rank_test(NAME sources... LIBS libs... NP 1 2 4): add_rank_test on a GPU that the ranks share, in builds
# with CUDA.
function(add_device_rank_test name)
  if(NOT TRIAX_CUDA)
    return()
  endif()
  add_rank_test(${name} ${ARGN})
  cmake_parse_arguments(ARG "" "" "LIBS;NP" ${ARGN})
  foreach(ranks IN LISTS ARG_NP)
    set_tests_properties(${name}.np${ranks} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no CUDA device" LABELS cuda)
  endforeach()
  add_dependencies(cuda_tests ${name})
endfunction()

# One thread per rank, because tests run more ranks than a small machine has cores. Leak detection is off, because MPICH
# and HDF5 keep memory until the process ends; the unit tests of owners find leaks of our own.
set(TRIAX_TEST_ENVIRONMENT "OMP_NUM_THREADS=1;ASAN_OPTIONS=detect_leaks=0;UBSAN_OPTIONS=print_stacktrace=1")
