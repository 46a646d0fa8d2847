# shellcheck shell=bash
# Sourced by test.sh, quickstart.sh and gates.sh, in the checkout's root.

# configure_preset PRESET: configures a preset of CMakePresets.json. Leaves its build folder in $build_folder.
configure_preset() {
  local preset=$1
  build_folder=build
  if [[ $preset != release ]]; then build_folder=build-$preset; fi

  # A folder keeps its first settings: others would compile everything again. Warnings are errors for tests and gates
  # (TRIAX_WERROR), and not for users, whose compiler may warn of more.
  local -a settings=()
  if [[ ! -e $build_folder/CMakeCache.txt ]]; then
    settings=(-D TRIAX_WERROR="${TRIAX_WERROR:-OFF}")
    if command -v ninja >/dev/null; then settings+=(-G Ninja); fi
    # The MPICH that setup.sh installs. Debian's plain mpicxx is Open MPI's if that is installed too.
    if [[ -z ${TRIAX_NO_INSTALL:-} && -x /usr/bin/mpicxx.mpich && -x /usr/bin/h5pcc.mpich ]]; then
      settings+=(-D MPI_C_COMPILER=/usr/bin/mpicc.mpich -D MPI_CXX_COMPILER=/usr/bin/mpicxx.mpich
        -D MPIEXEC_EXECUTABLE=/usr/bin/mpiexec.mpich -D HDF5_C_COMPILER_EXECUTABLE=/usr/bin/h5pcc.mpich)
    fi
  fi

  # ccache: files that another configuration has compiled are not compiled again, whatever the folder's name, and in
  # spite of precompiled headers. A launcher or settings of ccache of the user's own are kept. No ccache for code of
  # this processor alone: it would serve another processor, for which -march=native is the same text.
  if [[ $preset != @(native|quickstart|clang|asan-ubsan) && $(uname -m) == x86_64 && -z ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]] && command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
    export CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1} CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
  fi

  cmake --preset "$preset" ${settings[@]+"${settings[@]}"}
}

# build_preset PRESET TARGET...: configures a preset and builds targets of it on all cores, or on
# CMAKE_BUILD_PARALLEL_LEVEL of them.
build_preset() {
  local preset=$1
  shift
  configure_preset "$preset"
  cmake --build --preset "$preset" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target "$@"
}
