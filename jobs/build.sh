# shellcheck shell=bash
# Sourced by test.sh and quickstart.sh, in the checkout's root.

# build_preset PRESET TARGET...: configures a preset of CMakePresets.json and builds targets of it on all cores.
# Leaves the preset's build folder in $build_folder.
build_preset() {
  local preset=$1
  shift
  build_folder=build
  if [[ $preset != release ]]; then build_folder=build-$preset; fi

  # Ninja where there is one, unless the folder was made with another generator.
  local -a generator=()
  if [[ ! -e $build_folder/CMakeCache.txt ]] && command -v ninja >/dev/null; then generator=(-G Ninja); fi

  # What another configuration has compiled is not compiled again; the folder's own name does not matter, and precompiled
  # headers do no harm. Who has a launcher, or settings of ccache, keeps them.
  if [[ -z ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]] && command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
    export CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1} CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
    export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD}
  fi

  cmake --preset "$preset" ${generator[@]+"${generator[@]}"}
  cmake --build --preset "$preset" --parallel "$(nproc)" --target "$@"
}
