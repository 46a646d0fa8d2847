#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
. jobs/build.sh
. jobs/skips.sh

usage() {
  cat <<'END'
Usage: jobs/test.sh [--long] [--sanitize | --preset NAME] [CTEST_ARGUMENT]...
Installs what is missing (jobs/setup.sh), builds, and runs every test. Exits non-zero when one fails.
If nvcc is on PATH and no argument is given, it then compiles the GPU kernels too (the preset cuda, in build-cuda/) and
runs their tests; those that need a GPU are skipped where there is none.
  --long          with the long loops: 200 kills of a training job, 50 of a tokenization, 60 of a batch, 10,000 mutated
                  checkpoints, every combination of features of a plan, every golden case on every layout
  --sanitize      under AddressSanitizer and UndefinedBehaviorSanitizer (the preset asan-ubsan)
  --preset NAME   another preset of CMakePresets.json (default: release, built in build/)
At the end it names skipped tests and their reasons. With TRIAX_MUST_RUN="WORD..." a skipped test with one of the words
in its name is a failure: .ci/run demands what its machine can run.
All other arguments go to ctest: "jobs/test.sh -R test_attention" runs one program, "jobs/test.sh -N" lists them.
END
}

preset=release
while [[ $# -gt 0 ]]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --long) export TRIAX_TEST_LONG=1 TRIAX_FUZZ_FILES=${TRIAX_FUZZ_FILES:-10000}; shift ;;
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
skips=$(mktemp)
trap 'rm -f "$skips"' EXIT
status=0

# run_tests CTEST_ARGUMENT...: runs the tests of $build_folder. A test counts one processor per rank: one that needs
# more than there are runs alone.
run_tests() {
  local temporary=$build_folder/Testing/Temporary
  mkdir -p "$temporary"
  ctest --test-dir "$build_folder" --output-on-failure --no-tests=error --timeout "${TRIAX_TEST_LONG:+7}900" -j "$(nproc)" "$@" | tee "$temporary/output.log" || status=1
  count_cases "$temporary/LastTest.log"
  list_skips "$temporary/output.log" "$temporary/LastTest.log" >>"$skips"
}

export TRIAX_WERROR=${TRIAX_WERROR:-ON}
build_preset "$preset" all
run_tests "$@"
if [[ $everything == yes ]]; then
  if command -v nvcc >/dev/null; then
    echo "test: the CUDA configuration (preset cuda)"
    build_preset cuda cuda_tests
    run_tests -L cuda
  else
    echo "test: there is no nvcc on PATH, so the CUDA configuration is neither built nor tested"
  fi
fi
report_skips "$skips" "${TRIAX_MUST_RUN:-}" || status=1
exit "$status"
