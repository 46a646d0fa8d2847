#!/usr/bin/env bash
# Checks beside the tests: clang-tidy on changed files, the fast tests under sanitizers, and a build by Clang.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
. jobs/build.sh

usage() {
  cat <<'END_OF_USAGE'
Usage: jobs/gates.sh [tidy | sanitize | clang]...
Installs what is missing (jobs/setup.sh --gates) and runs the gates named, or all. Exits non-zero if one fails.
  tidy       clang-tidy on the C++ sources that changed since commit BASE (default: the last commit that is a day older
             than the newest), at most MAX_FILES of them (default 12), the newest changes first
  sanitize   the tests of job files, plans, files and memory under AddressSanitizer and UndefinedBehaviorSanitizer
             (all tests: jobs/test.sh --sanitize)
  clang      triax built by Clang 15 or newer with warnings as errors, for this machine's processor, and a training run
END_OF_USAGE
}

fail() {
  echo "gates: $*" >&2
  return 1
}

# Path of the newest clang++-N from 15 on, or of clang++ if that is new enough.
clang_compiler() {
  local version
  for version in {25..15}; do
    if command -v "clang++-$version"; then return; fi
  done
  version=$(clang++ -dumpversion 2>/dev/null | cut -d. -f1) || version=
  if [[ ${version:-0} -ge 15 ]]; then command -v clang++; fi
}

# Sources that changed since BASE, the newest changes first.
changed_sources() {
  local newest base=${BASE:-}
  newest=$(git log -1 --format=%ct)
  if [[ -z $base ]]; then base=$(git rev-list -1 --before="$((newest - 86400))" HEAD); fi
  git log --format= --name-only --diff-filter=AMR "${base:+$base..}HEAD" -- '*.cpp' | awk '!seen[$0]++' |
    grep -E '^(io|kernels|src)/' | while read -r file; do if [[ -e $file ]]; then echo "$file"; fi; done
}

tidy() {
  local tool
  tool=$(command -v clang-tidy) || { fail "tidy: there is no clang-tidy. Install it (apt-get install clang-tidy)"; return; }
  local -a files=()
  mapfile -t files < <(changed_sources)
  echo "gates: ${#files[@]} sources have changed; clang-tidy on the newest ${MAX_FILES:-12}"
  [[ ${#files[@]} -gt 0 ]] || return 0
  # The compile commands of a preset without precompiled headers, which clang-tidy cannot read.
  configure_preset asan-ubsan
  printf '%s\n' "${files[@]:0:${MAX_FILES:-12}}" |
    xargs -d '\n' -P "$(nproc)" -n 1 "$tool" --quiet -p "$build_folder" --warnings-as-errors='*' \
      --extra-arg=-Wno-unknown-warning-option
}

sanitize() {
  local -a programs=(test_config test_schedule test_io test_base)
  TRIAX_WERROR=ON build_preset asan-ubsan "${programs[@]}"
  ctest --test-dir "$build_folder" --output-on-failure --no-tests=error --timeout 900 -j "$(nproc)" \
    -R "^($(IFS='|'; echo "${programs[*]}"))\$"
}

clang() {
  local compiler mpiexec
  compiler=$(clang_compiler)
  [[ -n $compiler ]] || fail "clang: there is no Clang 15 or newer. Install it (apt-get install clang-15)" || return
  CC=${compiler/clang++/clang} CXX=$compiler TRIAX_WERROR=ON build_preset clang triax
  mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build_folder/CMakeCache.txt")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  for _ in {1..200}; do echo "A line of text to train on."; done >"$work/text.txt"
  cat >"$work/job.json" <<END_OF_JOB
{"model": {"architecture": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 32,
           "intermediate_size": 64, "max_position_embeddings": 32, "vocab_size": 256},
 "data": {"train": "$work/text.txt"}, "parallel": {"pipeline": 2}, "train_batch_size": 8, "gradient_accumulation_steps": 4,
 "run": {"steps": 20, "directory": "$work/run"}}
END_OF_JOB
  "$mpiexec" -n 2 "$build_folder/src/triax" train "$work/job.json"
  "$build_folder/src/triax" checkpoint verify "$work"/run/checkpoints/*.h5
}

main() {
  case ${1:-} in
    -h | --help) usage; return ;;
    --only) "$2"; return ;;  # in a process of its own, which ends at the first error
  esac
  local -a gates=("$@")
  [[ $# -gt 0 ]] || gates=(tidy sanitize clang)
  local gate begin status=0
  for gate in "${gates[@]}"; do
    case $gate in
      tidy | sanitize | clang) ;;
      *) fail "there is no gate $gate (see --help)" || return 2 ;;
    esac
  done
  jobs/setup.sh --gates
  for gate in "${gates[@]}"; do
    begin=$SECONDS
    if jobs/gates.sh --only "$gate"; then
      echo "gates: $gate passed in $((SECONDS - begin)) s"
    else
      echo "gates: $gate FAILED after $((SECONDS - begin)) s"
      status=1
    fi
  done
  return "$status"
}

main "$@"
