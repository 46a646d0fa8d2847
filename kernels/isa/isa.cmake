# SPDX-License-Identifier: Apache-2.0
# triax_isa_sources(TARGET SOURCE... [AMX SOURCE...] [LIBS LIB...] [OPTIONS OPTION...]): compiles sources of TARGET once
# for each ISA level and joins the objects (join.sh). AMX lists those of the sources that have code for AMX: only these
# are compiled for avx512_amx, which shares all others with avx512_bf16. All sources get LIBS and OPTIONS.
function(triax_isa_sources target)
  cmake_parse_arguments(ARG "" "" "AMX;LIBS;OPTIONS" ${ARGN})
  set(objects "")
  foreach(kind IN LISTS TRIAX_ISA_KINDS)
    set(compiled ${target}_${kind})
    set(sources_${kind} ${ARG_UNPARSED_ARGUMENTS})
    if(kind STREQUAL avx512_amx)
      set(sources_${kind} ${ARG_AMX})
    endif()
    if(NOT sources_${kind})
      continue()
    endif()
    add_library(${compiled} OBJECT ${sources_${kind}})
    # join.sh renames symbols in machine code, which link-time optimisation would compile only later.
    set_target_properties(${compiled} PROPERTIES TRIAX_MARCH "${TRIAX_MARCH_${kind}}" INTERPROCEDURAL_OPTIMIZATION OFF)
    if("${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}" MATCHES "-flto")
      target_compile_options(${compiled} PRIVATE -fno-lto)
    endif()
    target_link_libraries(${compiled} PRIVATE triax_options ${ARG_LIBS})
    target_compile_definitions(${compiled} PRIVATE TRIAX_VECTOR_CODE)
    # Products and sums are rounded as written (multiply_add rounds once). If compilers fused them as they like, the
    # last bits would depend on the vector width, on inlining and on the compiler's version.
    target_compile_options(${compiled} PRIVATE -ffp-contract=off ${ARG_OPTIONS})
    add_dependencies(${target} ${compiled})  # Makefiles do not see this dependency in the joined files
    list(APPEND objects $<TARGET_OBJECTS:${compiled}>)
  endforeach()
  list(LENGTH TRIAX_ISA_KINDS kinds)
  if(kinds EQUAL 1)
    target_sources(${target} PRIVATE ${objects})
    return()
  endif()

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.isa)
  set(joined ${folder}/functions.o)
  foreach(kind IN LISTS TRIAX_ISA_KINDS)
    foreach(source IN LISTS sources_${kind})
      list(APPEND joined ${folder}/${kind}/${source}.o)
    endforeach()
  endforeach()
  set(join ${PROJECT_SOURCE_DIR}/kernels/isa/join.sh)
  add_custom_command(OUTPUT ${joined}
    COMMAND ${CMAKE_COMMAND} -E env CXX=${CMAKE_CXX_COMPILER} NM=${CMAKE_NM} OBJCOPY=${CMAKE_OBJCOPY} READELF=${CMAKE_READELF}
            SANITIZE=${TRIAX_SANITIZE} ${join} ${folder} ${objects}
    DEPENDS ${join} ${objects}
    COMMENT "Joining the kinds of ${target}" COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${joined} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${target} PRIVATE ${joined})
endfunction()

# triax_processor_features(FILE): writes one line FEATURE("avx2") for each processor feature that code for TRIAX_MARCH
# needs and __builtin_cpu_supports knows.
include(CheckCXXSourceCompiles)
function(triax_processor_features file)
  set(asked "")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=${TRIAX_MARCH} -dM -E -x c++ /dev/null
                  OUTPUT_VARIABLE macros COMMAND_ERROR_IS_FATAL ANY)
  set(text "")
  # Not all compilers know the names of these. A processor without lzcnt would compute wrong results instead of
  # trapping.
  foreach(feature f16c lzcnt movbe popcnt)
    check_cxx_source_compiles("int main() { return __builtin_cpu_supports(\"${feature}\"); }" TRIAX_ASKS_FOR_${feature})
    if(TRIAX_ASKS_FOR_${feature})
      list(APPEND asked ${feature})
    endif()
  endforeach()
  foreach(feature avx avx2 fma bmi bmi2 ${asked} avx512f avx512cd avx512bw avx512dq avx512vl avx512bf16 avx512vnni avx512ifma
                  avx512vbmi avx512vbmi2 avx512bitalg avx512vpopcntdq gfni)
    string(TOUPPER ${feature} name)
    if(macros MATCHES "#define __${name}__ ")
      string(APPEND text "FEATURE(\"${feature}\")\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()
