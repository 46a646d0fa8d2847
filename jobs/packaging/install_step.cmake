# SPDX-License-Identifier: Apache-2.0
# Runs at cmake --install (install.cmake): the modulefile for this prefix, the man page, the bash completion. Where the program
# cannot run (built for another machine, or no bash), the last two are left out, with a warning.
get_filename_component(CMAKE_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}" ABSOLUTE BASE_DIR "${CMAKE_BINARY_DIR}")
file(MAKE_DIRECTORY "${TRIAX_SCRATCH}")
configure_file("${TRIAX_PACKAGING}/modulefile.lua.in" "${TRIAX_SCRATCH}/${TRIAX_VERSION}.lua" @ONLY)
file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/share/triax/modulefiles/triax" TYPE FILE
     FILES "${TRIAX_SCRATCH}/${TRIAX_VERSION}.lua")

if(TRIAX_CROSSCOMPILING)
  set(failed "the program is built for another machine")
else()
  execute_process(COMMAND bash "${TRIAX_PACKAGING}/command_line.sh" "${TRIAX_PROGRAM}" "${TRIAX_VERSION}"
                          "${TRIAX_SCRATCH}/triax.1" "${TRIAX_SCRATCH}/triax"
                  RESULT_VARIABLE failed ERROR_VARIABLE errors)
endif()
if(failed)
  message(WARNING "triax's man page and bash completion are not installed: ${failed}. They are written from what "
                  "'${TRIAX_PROGRAM} --help' prints. ${errors}")
else()
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/share/man/man1" TYPE FILE FILES "${TRIAX_SCRATCH}/triax.1")
  file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/share/bash-completion/completions" TYPE FILE FILES "${TRIAX_SCRATCH}/triax")
endif()
