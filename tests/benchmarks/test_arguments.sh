#!/usr/bin/env bash
# Each benchmark says how it is used, and refuses what it does not know, without a run or a file.
# Usage: test_arguments.sh DIRECTORY, where the benchmarks are
set -euo pipefail
programs=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"

tried=0
for program in "$programs"/bench_* "$programs"/step "$programs"/summarize; do
  [[ -f $program && -x $program ]] || continue
  name=${program##*/}
  "$program" --help >help || fail "$name --help ended with $?"
  grep -q '^Usage' help || fail "$name --help does not say how it is used"
  status=0
  "$program" --no-such-option >out 2>error || status=$?
  [[ $status -eq 2 ]] || fail "$name --no-such-option ended with $status"
  [[ ! -s out && -s error ]] || fail "$name --no-such-option does not say what is wrong"
  rm help out error
  [[ -z $(ls) ]] || fail "$name left $(ls)"
  tried=$((tried + 1))
done

# What would run nothing, or with nothing, is a mistake and not a success without a line.
refused() { # PROGRAM ARGUMENT...
  local status=0
  [[ -x $programs/$1 ]] || return 0
  "$programs/$1" "${@:2}" >out 2>error || status=$?
  [[ $status -eq 2 ]] || fail "$* ended with $status"
  [[ ! -s out && -s error ]] || fail "$* does not say what is wrong"
  rm out error
  [[ -z $(ls) ]] || fail "$* left $(ls)"
}
refused bench_checkpoint . 1 "wrte flat"
refused bench_collectives 100
refused step --batch 0
refused bench_matmul --threads 0

[[ $tried -ge 10 ]] || fail "$tried benchmarks are built, not ten"
