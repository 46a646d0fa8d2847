#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. jobs/build.sh

usage() {
  cat <<'END'
Usage: jobs/test.sh [--sanitize | --preset NAME] [CTEST_ARGUMENT]...
Installs what is missing (jobs/setup.sh), builds, and runs every test. Exits non-zero when one fails.
Where nvcc is on PATH and no argument is given, the GPU kernels are then compiled too (the preset cuda, in build-cuda/)
and their tests run; those that need a GPU are skipped where there is none.
  --sanitize      under AddressSanitizer and UndefinedBehaviorSanitizer (the preset asan-ubsan)
  --preset NAME   another preset of CMakePresets.json (default: release, built in build/)
All other arguments go to ctest: "jobs/test.sh -R test_attention" runs one program, "jobs/test.sh -N" lists them.
END
}

preset=release
while [[ $# -gt 0 ]]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --sanitize) preset=asan-ubsan; shift ;;
    --preset)
      if [[ $# -lt 2 ]]; then echo "test: --preset needs a name (see --help)" >&2; exit 2; fi
      preset=$2
      shift 2
      ;;
    *) break ;;
  esac
done

everything=$([[ $preset == release && $# -eq 0 ]] && echo yes || echo no)
jobs/setup.sh --tests
build_preset "$preset" all

# A test of several ranks counts as so many processors: one that does not fit runs alone.
status=0
ctest --test-dir "$build_folder" --output-on-failure --no-tests=error -j "$(nproc)" "$@" || status=$?

# ctest counts programs; the cases are in its log.
awk '/^\[  PASSED  \] [0-9]+ test/ { passed += $4; ++programs }
     /^\[  FAILED  \] [0-9]+ test/ { failed += $4 }
     /^\[  SKIPPED \] [0-9]+ test/ { skipped += $4 }
     END {
       if (programs)
         printf "GoogleTest: %d cases passed, %d failed, %d skipped, in %d runs\n", passed, failed, skipped, programs
     }' \
  "$build_folder/Testing/Temporary/LastTest.log" || true

if [[ $everything == yes ]]; then
  if command -v nvcc >/dev/null; then
    echo "test: the CUDA configuration (preset cuda)"
    build_preset cuda cuda_tests
    ctest --test-dir "$build_folder" --output-on-failure --no-tests=error -j "$(nproc)" -L cuda || status=$?
  else
    echo "test: there is no nvcc on PATH, so the CUDA configuration is neither built nor tested"
  fi
fi
exit "$status"
