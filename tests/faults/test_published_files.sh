#!/usr/bin/env bash
# State of the disk when a checkpoint gets its name: lines of metrics.jsonl are synced before. If syncing the directory
# fails, the name may be lost, so the older checkpoints are kept and the run continues. fail_nth.cpp counts, logs and
# fails the calls.
# usage: test_published_files.sh TRIAX LIBRARY
set -u
. "$(dirname "$0")/functions.sh"
triax=$1 library=$2
begin_work
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0

make_text 100
make_job 1 2 16 16 4 '
 "data": {"train": ["text"], "seq_length": 16}, "run": {"steps": 3, "directory": "run", "progress": "none"},
 "checkpoint": {"interval": 1, "keep": 1},'

die() {
  echo "FAILED: async $async: $*"
  ls run/checkpoints
  cat log out
  exit 1
}
# Runs with the given faults; log lists its syncs.
train() {  # VARIABLE=VALUE...
  rm -rf run log
  env LD_PRELOAD="$library" FAIL_BELOW="$work/run" FAIL_LOG="$work/log" FAIL_KIND=sync "$@" \
    "$triax" train job.json --set checkpoint.async="$async" > out 2>&1
}
files() { (cd run/checkpoints && echo *.h5); }

for async in false true; do
  train FAIL_NTH=1 FAIL_LAST=1000 FAIL_HOLD=/dev/null || die "status $?"  # logs each call and holds none
  mapfile -t synced < <(sed -n "s|^held sync $work/||p" log)
  directories=() before=
  for i in "${!synced[@]}"; do
    [ "${synced[$i]}" = run/metrics.jsonl ] && before=yes
    [ "${synced[$i]}" = run/checkpoints ] || continue
    [ "$before" = yes ] || die "a checkpoint has its name before the metrics are on the disk"
    before=
    directories+=($((i + 1)))
  done
  [ "${#directories[@]}" -eq 3 ] || die "${#directories[@]} syncs of the directory: ${synced[*]}"

  # The last checkpoint, which is not written in the background.
  train FAIL_NTH="${directories[2]}" FAIL_ERROR=5 || die "status $?"
  [ "$(files)" = "step-000002.h5 step-000003.h5" ] || die "not the last one and the one before it: $(files)"
  grep "may be gone after a crash" out | grep -q "Input/output error" || die "the failure is not said"

  # The sync of the second checkpoint and every later one fail: the third is not written.
  train FAIL_NTH="${directories[1]}" FAIL_LAST=1000 FAIL_ERROR=5
  [ $? -eq 3 ] || die "a last checkpoint that is not written is no failure"
  [ "$(files)" = "step-000001.h5 step-000002.h5" ] || die "not the first two: $(files)"

  # A file system without sync.
  train FAIL_NTH=1 FAIL_LAST=1000 FAIL_ERROR=22 || die "status $? where no file can be synced"
  [ "$(files)" = "step-000002.h5 step-000003.h5" ] || die "not the last one, and the one whose loss is known: $(files)"
done
echo "passed"
