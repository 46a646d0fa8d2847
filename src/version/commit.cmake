# SPDX-License-Identifier: Apache-2.0
# Writes FILE, a header with the commit of the checkout SOURCE, if the commit has changed. Runs at each build.
set(commit unknown)
if(EXISTS ${SOURCE}/.git)  # a tarball may lie in another's checkout
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT [[
#pragma once
// Made at each build by commit.cmake.

namespace triax {
inline constexpr const char* built_commit = "@commit@";
}  // namespace triax
]] @ONLY)
