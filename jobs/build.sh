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

  cmake --preset "$preset" ${generator[@]+"${generator[@]}"}
  cmake --build --preset "$preset" --parallel "$(nproc)" --target "$@"
}
