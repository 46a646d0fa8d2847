#!/usr/bin/env bash
# Takes a rank from runs of 4: killed or stopped, at instants that fall in steps and in checkpoint writes. The job
# must end with a status other than 0 (3 where a rank is stopped) soon after run.collective_timeout, name the rank,
# and leave no process behind.
# usage: test_lost_rank.sh TRIAX MPIEXEC FLAG
set -u
. "$(dirname "$0")/functions.sh"
triax=$1 mpiexec=$2 flag=$3
timeout_s=2 slack_s=12
begin_work
trap 'rm -rf "$work"' EXIT
failures=0
width=32

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
  tail -n 20 out | cut -c1-300
}

make_text 3000
job() {  # tensor pipeline interval
  make_job 4 4 $width 32 8 "
 \"data\": {\"train\": [\"text\"], \"seq_length\": 32},
 \"parallel\": {\"tensor\": $1, \"pipeline\": $2, \"data\": \"auto\"},
 \"run\": {\"steps\": 1000000, \"directory\": \"run\", \"collective_timeout\": \"${timeout_s}s\", \"progress\": \"none\"},
 \"checkpoint\": {\"interval\": $3, \"keep\": 1}, \"gradient_accumulation_steps\": 2,"
}

# The process of a rank, by the number that the launcher gave it.
process_of() {
  for p in $(ranks); do
    tr '\0' '\n' < "/proc/$p/environ" 2> /dev/null | grep -qx "PMI_RANK=$1" && echo "$p"
  done
}

run_case() {  # name signal rank tensor pipeline interval delay
  local name=$1 signal=$2 rank=$3 delay=$7
  rm -rf run
  job "$4" "$5" "$6"
  timeout 60 "$mpiexec" "$flag" 4 "$triax" train job.json > out 2>&1 &
  local launcher=$!
  for _ in $(seq 200); do  # until steps are made
    [ -s run/metrics.jsonl ] && break
    sleep 0.1
  done
  sleep "$delay"
  local lost
  lost=$(process_of "$rank")
  [ -n "$lost" ] || { fail "$name: rank $rank was not found"; kill "$launcher"; wait "$launcher"; return; }
  kill -s "$signal" "$lost"
  local begin=$SECONDS
  wait "$launcher"
  local status=$? took=$((SECONDS - begin))
  [ "$status" -ne 0 ] && [ "$status" -ne 124 ] || fail "$name: status $status"
  [ "$took" -le $((timeout_s + slack_s)) ] || fail "$name: it took $took s"
  if [ "$signal" = STOP ]; then
    [ "$status" -eq 3 ] || fail "$name: status $status where 3 was expected"
    grep -q "rank $rank (.*its process $lost is stopped by a signal" out || fail "$name: rank $rank is not named"
  fi
  for _ in $(seq 30); do
    [ -z "$(ranks)" ] && break
    sleep 0.1
  done
  [ -z "$(ranks)" ] || { fail "$name: processes are left: $(ranks)"; kill -KILL $(ranks) 2> /dev/null; }
  echo "$name: status $status after $took s"
}

#        name                      signal rank tensor pipeline interval delay
run_case "stopped, tensor axis"    STOP   2    4      1        0        0.1
run_case "stopped, pipeline axis"  STOP   1    1      4        0        0.23
run_case "stopped, data axis"      STOP   3    1      1        0        0.17
run_case "stopped, three axes"     STOP   0    2      2        0        0.3
run_case "stopped, checkpoints"    STOP   1    1      1        1        0.21
run_case "stopped, checkpoints 2"  STOP   0    2      1        1        0.37
run_case "killed, three axes"      KILL   2    2      2        0        0.1
run_case "killed, checkpoints"     KILL   3    1      1        1        0.3
width=256  # gradients go through memory that the ranks share
run_case "stopped, shared memory"  STOP   2    1      1        0        0.1
run_case "stopped, shared memory 2" STOP  0    1      1        0        0.29
run_case "stopped, shared memory 3" STOP  1    1      2        0        0.17
run_case "killed, shared memory"   KILL   1    1      1        0        0.2

[ "$failures" -eq 0 ] || exit 1
echo "all cases passed"
