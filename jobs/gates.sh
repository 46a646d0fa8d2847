#!/usr/bin/env bash
# Checks beside the tests: clang-tidy on changed files, the fast tests under sanitizers, and a build by Clang.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
. jobs/build.sh

usage() {
  cat <<'END_OF_USAGE'
Usage: jobs/gates.sh [tidy | sanitize | clang]...
Installs what is missing (jobs/setup.sh --gates) and runs the gates named, or all. Exits non-zero if one fails. A gate
whose tool cannot be had is a failure if it is named, and is reported as not run otherwise.
  tidy       clang-tidy on the C++ sources that changed since commit BASE (default: the last commit that is a day older
             than the newest), at most MAX_FILES of them (default 12), the newest changes first
  sanitize   the tests of job files, plans, files and memory under AddressSanitizer and UndefinedBehaviorSanitizer
             (all tests: jobs/test.sh --sanitize)
  clang      triax built by Clang 15, or the next newer one here, with warnings as errors, for this machine's
             processor, and a training run
TRIAX_GATES_SECONDS=N: N seconds for all gates. What has not ended by then is stopped and reported as not run.
END_OF_USAGE
}

fail() {
  echo "gates: $*" >&2
  return 1
}

readonly no_tool=69  # EX_UNAVAILABLE of sysexits.h
lack() {
  echo "gates: $*" >&2
  exit "$no_tool"
}

# Path of the oldest clang++-N from 15 on, or of clang++ if that is new enough; nothing without one. The oldest, as it
# is the one that triax promises to build with, and as newer ones warn of more.
clang_compiler() {
  local version
  for version in {15..30}; do
    if command -v "clang++-$version"; then return; fi
  done
  version=$(clang++ -dumpversion 2>/dev/null | cut -d. -f1) || version=
  if [[ ${version:-0} -ge 15 ]]; then command -v clang++; fi
}

# Sources that changed since BASE, the newest changes first. Fails where git does.
changed_sources() {
  local newest base=${BASE:-} names file
  newest=$(git log -1 --format=%ct) || return
  if [[ -z $base ]]; then base=$(git rev-list -1 --before="$((newest - 86400))" HEAD) || return; fi
  names=$(git log --format= --name-only --diff-filter=AMR "${base:+$base..}HEAD" -- {io,kernels,src}/'*.cpp') || return
  # processor.cpp holds the names of features that the preset's compiler, GCC, knows.
  awk 'NF && !seen[$0]++ && $0 != "kernels/isa/processor.cpp"' <<<"$names" | while read -r file; do if [[ -e $file ]]; then echo "$file"; fi; done
}

tidy() {
  local tool changed
  tool=$(command -v clang-tidy) || lack "tidy: there is no clang-tidy. Install it (apt-get install clang-tidy)"
  changed=$(changed_sources) || fail "tidy: git does not say which sources have changed. Run it in a clone"
  local -a files=()
  if [[ -n $changed ]]; then mapfile -t files <<<"$changed"; fi
  echo "gates: ${#files[@]} sources have changed; clang-tidy on the newest ${MAX_FILES:-12}"
  [[ ${#files[@]} -gt 0 ]] || return 0
  # A preset without precompiled headers, which clang-tidy cannot read. GCC's warnings are not its business: only the
  # checks of .clang-tidy fail.
  configure_preset tidy
  printf '%s\n' "${files[@]:0:${MAX_FILES:-12}}" |
    xargs -d '\n' -P "$(nproc)" -n 1 "$tool" --quiet -p "$build_folder" --warnings-as-errors='*' \
      --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-error
}

# Prints what the tests print only if one fails, so that jobs/test.sh's result stays the only one in a log of both.
sanitize() {
  local -a programs=(test_config test_schedule test_io test_base)
  local log
  build_preset asan-ubsan "${programs[@]}"
  log=$build_folder/sanitize.log
  if ! ctest --test-dir "$build_folder" --quiet --output-log "$PWD/$log" --output-on-failure --no-tests=error --timeout 900 \
    -j "$(nproc)" -R "^($(IFS='|'; echo "${programs[*]}"))\$"; then
    cat "$log"
    fail "sanitize: a test failed (see above, or $log)"
  fi
}

clang() {
  local compiler mpiexec
  compiler=$(clang_compiler)
  [[ -n $compiler ]] || lack "clang: there is no Clang 15 or newer. Install it (apt-get install clang-15 libomp-15-dev)"
  CC=${compiler/clang++/clang} CXX=$compiler build_preset clang triax
  mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build_folder/CMakeCache.txt")
  work=$(mktemp -d)  # not local: the trap runs after this function
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
    --only) "$2"; return ;;  # one gate in a process of its own, which ends at the first error
  esac
  local -a gates=("$@")
  [[ $# -gt 0 ]] || gates=(tidy sanitize clang)
  local gate begin result status=0 limit=${TRIAX_GATES_SECONDS:-}
  local -a within=()  # no timeout(1) without a limit: it would keep Ctrl-C from the gate
  for gate in "${gates[@]}"; do
    case $gate in
      tidy | sanitize | clang) ;;
      *) fail "there is no gate $gate (see --help)" || return 2 ;;
    esac
  done
  export TRIAX_WERROR=${TRIAX_WERROR:-ON}
  jobs/setup.sh --gates || echo "gates: not everything could be installed: a gate that needs it will fail"
  for gate in "${gates[@]}"; do
    begin=$SECONDS result=0
    if [[ -n $limit ]]; then within=(timeout $((limit > begin ? limit - begin : 1))); fi
    ${within[@]+"${within[@]}"} jobs/gates.sh --only "$gate" || result=$?
    if [[ -n $limit && $result -eq 124 && $SECONDS -ge $limit ]]; then
      echo "gates: $gate was NOT RUN to its end: TRIAX_GATES_SECONDS=$limit are over"
    elif [[ $result -eq 0 ]]; then
      echo "gates: $gate passed in $((SECONDS - begin)) s"
    elif [[ $result -eq $no_tool && $# -eq 0 ]]; then
      echo "gates: $gate was NOT RUN"
    else
      echo "gates: $gate FAILED after $((SECONDS - begin)) s"
      status=1
    fi
  done
  return "$status"
}

main "$@"
