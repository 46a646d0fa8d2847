#!/usr/bin/env bash
# Checks beside the tests: clang-tidy on changed files, the fast tests under sanitizers, and a build by Clang.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
. jobs/build.sh

usage() {
  cat <<'END_OF_USAGE'
Usage: jobs/gates.sh [tidy | sanitize | clang]...
Runs the gates named, or all. Exits non-zero where one fails; .ci/run runs them behind jobs/test.sh.
  tidy       clang-tidy on the C++ files that changed since BASE (default: 24 hours before the newest commit), at most
             MAX_FILES of them (default 24): the newest changes first. Needs the preset release, as jobs/test.sh leaves it.
  sanitize   the tests of job files, plans, files and memory under AddressSanitizer and UndefinedBehaviorSanitizer
             (all tests: jobs/test.sh --sanitize)
  clang      triax built by Clang 15 or newer with warnings as errors, for this machine's processor, and a training run
A gate whose compiler is missing is named and fails.
END_OF_USAGE
}

fail() {
  echo "gates: $*" >&2
  return 1
}

# The newest of the commands clang++-15, clang++-16, ... that is installed, or clang++ if that is new enough.
clang_of() {
  local version command
  for version in 22 21 20 19 18 17 16 15; do
    command=$1-$version
    if command -v "$command"; then return; fi
  done
  command=$(command -v "$1") && [[ $("$command" -dumpversion 2>/dev/null | cut -d. -f1) -ge 15 ]] && echo "$command"
}

changed_sources() {
  local base=${BASE:-$(git rev-list -1 --before="$(git log -1 --format=%ct) - 86400" HEAD 2>/dev/null)}
  git log --format= --name-only --diff-filter=AMR "${base:+$base..}HEAD" -- '*.cpp' | awk '!seen[$0]++' |
    while read -r file; do if [[ -e $file ]]; then echo "$file"; fi; done
}

tidy() {
  local tool
  tool=$(command -v clang-tidy) || { fail "tidy: there is no clang-tidy. Install it (apt-get install clang-tidy)"; return; }
  [[ -e build/compile_commands.json ]] || { fail "tidy: there is no build/compile_commands.json. Run jobs/test.sh first"; return; }
  local -a files=()
  mapfile -t files < <(changed_sources | grep -E '^(io|kernels|src)/' | head -n "${MAX_FILES:-24}")
  echo "gates: clang-tidy on ${#files[@]} files"
  [[ ${#files[@]} -gt 0 ]] || return 0
  printf '%s\n' "${files[@]}" |
    xargs -d '\n' -P "$(nproc)" -n 1 "$tool" --quiet -p build --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option
}

sanitize() {
  local -a programs=(test_config test_schedule test_io test_base)
  TRIAX_WERROR=ON build_preset asan-ubsan "${programs[@]}"
  ctest --test-dir "$build_folder" --output-on-failure --no-tests=error --timeout 900 -j "$(nproc)" \
    -R "^($(IFS='|'; echo "${programs[*]}"))\$"
}

clang() {
  local compiler work
  compiler=$(clang_of clang++) || { fail "clang: there is no Clang 15 or newer. Install it (apt-get install clang-15)"; return; }
  CC=${compiler/clang++/clang} CXX=$compiler TRIAX_WERROR=ON build_preset clang triax
  work=$(mktemp -d)
  for _ in {1..200}; do echo "A line of text to train on."; done >"$work/text.txt"
  cat >"$work/job.json" <<END_OF_JOB
{"model": {"architecture": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 32,
           "intermediate_size": 64, "max_position_embeddings": 32, "vocab_size": 256},
 "data": {"train": "$work/text.txt"}, "parallel": {"pipeline": 2}, "train_batch_size": 8, "gradient_accumulation_steps": 4,
 "run": {"steps": 20, "directory": "$work/run"}}
END_OF_JOB
  mpiexec -n 2 "$build_folder/src/triax" train "$work/job.json" && "$build_folder/src/triax" checkpoint verify "$work"/run/checkpoints/*.h5
  rm -r "$work"
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
