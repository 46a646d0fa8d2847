# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt: what cmake --install writes beside the program. The man page and the completion come from the
# program's own --help, when it is installed; a build makes neither.
set(TRIAX_MODULES "" CACHE STRING "Modules that triax's modulefile loads first: those of its MPI and HDF5, as in mpich/4.2;hdf5/1.14")
set(TRIAX_DEPENDS_ON "")
foreach(module IN LISTS TRIAX_MODULES)
  string(APPEND TRIAX_DEPENDS_ON "depends_on([[${module}]])\n")
endforeach()
install(CODE "
  set(TRIAX_PROGRAM [==[$<TARGET_FILE:triax>]==])
  set(TRIAX_VERSION [==[${PROJECT_VERSION}]==])
  set(TRIAX_DESCRIPTION [==[${PROJECT_DESCRIPTION}]==])
  set(TRIAX_DEPENDS_ON [==[${TRIAX_DEPENDS_ON}]==])
  set(TRIAX_CROSSCOMPILING [==[${CMAKE_CROSSCOMPILING}]==])
  set(TRIAX_PACKAGING [==[${CMAKE_CURRENT_LIST_DIR}]==])
  set(TRIAX_SCRATCH [==[${PROJECT_BINARY_DIR}/packaging]==])
  include([==[${CMAKE_CURRENT_LIST_DIR}/install_step.cmake]==])")
