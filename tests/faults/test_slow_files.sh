#!/usr/bin/env bash
# A file system that does not answer one rank for longer than run.collective_timeout while the others wait: in a
# checkpoint's writes, in its renaming, in metrics.jsonl. The job keeps waiting. It ends if the file system never
# answers, or if a rank is lost meanwhile. fail_nth.cpp holds the calls.
# usage: test_slow_files.sh TRIAX MPIEXEC FLAG LIBRARY
set -u
. "$(dirname "$0")/functions.sh"
begin_held_work "$@"
make_job 1 2 16 16 4 '
 "data": {"train": ["text"], "seq_length": 16}, "parallel": {"data": "auto"}, "zero_optimization": {"stage": 1},
 "run": {"steps": 8, "directory": "run", "collective_timeout": "2s", "progress": "none"}, "checkpoint": {"interval": 4},'

die() {
  echo "FAILED: $what: $*"
  cat log
  tail -n 20 out | cut -c1-400
  exit 1
}
held() { grep -q ^held log 2> /dev/null; }
says() { grep -q "$1" out || die "it is not said: $1"; }

# Starts a run of 2 ranks in which a call of one rank is held, and waits for the hold.
begin() {  # what async rank kind nth more...
  what=$1
  rm -rf run log gate
  timeout 300 "$mpiexec" "$flag" 2 env LD_PRELOAD="$library" FAIL_BELOW="$work/run" FAIL_LOG="$work/log" FAIL_RANK="$3" \
    FAIL_KIND="$4" FAIL_NTH="$5" FAIL_HOLD="$work/gate" "$triax" train job.json --set checkpoint.async="$2" "${@:6}" > out 2>&1 &
  launcher=$!
  wait_for "a call to be held" held
}
waits() {  # what async rank kind nth path
  begin "$1" "$2" "$3" "$4" "$5"
  grep -q "^held $4 .*$6" log || die "held elsewhere"
  sleep 4
  touch gate
  wait "$launcher" || die "status $?"
  says "rank $3 still at work on files: the job waits on"
  "$triax" checkpoint verify run/checkpoints/step-000008.h5 > verified 2>&1 || die "$(cat verified)"
}

waits "rank 1 writes a checkpoint"        false 1 write 1 /step-000004.h5.tmp
waits "rank 1 syncs in the background"    true  1 sync  1 /step-000004.h5.tmp
waits "rank 0 gives a checkpoint its name" false 0 rename 2 /step-000004.h5
what="rank 0 writes metrics.jsonl"
begin "$what" false 0 write 1
nth=1
while ! grep -q "metrics.jsonl$" log; do  # which write this is does not matter
  touch gate
  wait "$launcher"
  [ $((nth += 1)) -le 12 ] || die "no write of metrics.jsonl"
  begin "$what" false 0 write "$nth"
done
touch gate
wait "$launcher" || die "status $?"
waits "$what" false 0 write "$nth" /metrics.jsonl

begin "the file system never answers" false 1 write 1 --set run.collective_timeout=1s
wait "$launcher"
status=$?
[ "$status" -eq 3 ] || die "status $status"
says "did not join: rank 1 .*: works on files"

begin "a rank is stopped that the others wait for" false 1 write 1 --set run.collective_timeout=5s
lost=$(process_of 1)
kill -STOP "$lost"
wait "$launcher"
status=$?
[ "$status" -eq 3 ] || die "status $status"
says "has waited [5-9][.0-9]* s"  # not six times as long
says "its process $lost is stopped by a signal"
echo passed
