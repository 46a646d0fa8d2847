#!/usr/bin/env bash
# A closed terminal: a run saves and exits; a run started by nohup continues.
set -u
. "$(dirname "$0")/functions.sh"
triax=$1
begin_work
trap 'pkill -P $$; rm -rf "$work"' EXIT
make_text 300
make_job 1 2 16 16 4 '
 "data": {"train": ["text"], "seq_length": 16}, "checkpoint": {"keep": 1},
 "run": {"steps": 1000000, "directory": "run", "progress": "none"},'

die() {
  echo "FAILED: $*"
  tail -n 20 out | cut -c1-400
  exit 1
}
steps() {
  local count
  count=$(grep -c '"loss"' run/metrics.jsonl 2> /dev/null)
  echo "${count:-0}"
}
gone() { ! kill -0 "$1" 2> /dev/null || grep -q '^State:.Z' "/proc/$1/status"; }
more_than() { [ "$(steps)" -gt "$1" ]; }

# Resets SIGHUP, whatever the tests were started with.
env --default-signal=HUP "$triax" train job.json > out 2>&1 &
run=$!
wait_for "a step" more_than 0
kill -HUP "$run"
wait_for "the end" gone "$run"
wait "$run"
status=$?
[ "$status" = 75 ] || die "status $status of a run whose terminal closed"
grep -q "SIGHUP" out || die "it is not said"
[ -n "$(ls run/checkpoints/*.h5)" ] || die "nothing was saved"

nohup "$triax" train job.json >> out 2>&1 &
run=$!
before=$(steps)
wait_for "a step of the second run" more_than "$before"
kill -HUP "$run"
before=$(steps)
wait_for "steps after SIGHUP" more_than $((before + 20))
kill -TERM "$run"
wait_for "the end of the second run" gone "$run"
wait "$run"
status=$?
[ "$status" = 75 ] || die "status $status of a run that nohup started"
echo "a closed terminal ends a run as it should"
