#!/usr/bin/env bash
# Kills or stops one rank of 4, during steps and during checkpoint writes. The job must end with a status other than 0
# (3 if a rank is stopped) soon after run.collective_timeout, name the rank, and leave no process behind.
# usage: test_lost_rank.sh TRIAX MPIEXEC FLAG
set -u
. "$(dirname "$0")/functions.sh"
triax=$1 mpiexec=$2 flag=$3
timeout_s=2 slack_s=90  # a virtual machine may pause during the test
begin_work
trap 'rm -rf "$work"' EXIT
failures=0
width=32
hosts=()  # options of mpiexec
late=  # a rank whose report comes shortly after the others'

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

# Time in which a process is stopped does not count as waiting, except for two polls of its watchdog (0.4 s). Its report
# is therefore due between another rank's report and the end of the job.
hold_up() {
  sleep 0.7
  kill -STOP "$1"
  sleep 0.5
  kill -CONT "$1"
}

run_case() {  # name signal rank tensor pipeline interval delay
  local name=$1 signal=$2 rank=$3 delay=$7
  rm -rf run
  job "$4" "$5" "$6"
  timeout 200 "$mpiexec" "${hosts[@]}" "$flag" 4 "$triax" train job.json > out 2>&1 &
  local launcher=$!
  for _ in $(seq 200); do  # until the job has made steps
    [ -s run/metrics.jsonl ] && break
    sleep 0.1
  done
  sleep "$delay"
  local lost
  lost=$(process_of "$rank")
  [ -n "$lost" ] || { fail "$name: rank $rank was not found"; kill "$launcher"; wait "$launcher"; return; }
  kill -s "$signal" "$lost"
  [ -z "$late" ] || hold_up "$(process_of "$late")"
  local begin=$SECONDS
  wait "$launcher"
  local status=$? took=$((SECONDS - begin))
  [ "$status" -ne 0 ] && [ "$status" -ne 124 ] || fail "$name: status $status"
  [ "$took" -le $((timeout_s + slack_s)) ] || fail "$name: it took $took s"
  if [ "$signal" = STOP ]; then
    [ "$status" -eq 3 ] || fail "$name: status $status where 3 was expected"
    grep -q "rank $rank (.*its process $lost is stopped by a signal" out || fail "$name: rank $rank is not named"
    [ "$(grep -c "has waited" out)" -eq 1 ] || fail "$name: more than one report"
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
width=256  # large enough that gradients go through shared memory
run_case "stopped, shared memory"  STOP   2    1      1        0        0.1
run_case "stopped, shared memory 2" STOP  0    1      1        0        0.29
run_case "stopped, shared memory 3" STOP  1    1      2        0        0.17
run_case "killed, shared memory"   KILL   1    1      1        0        0.2
width=32
if "$mpiexec" --version | grep -q HYDRA; then  # two names of this machine count as two nodes
  hosts=(-launcher fork -hosts "localhost:2,$(hostname):2")
  late=2
  run_case "stopped, two nodes"    STOP   3    2      2        0        0.1
  run_case "stopped, two nodes 2"  STOP   1    1      1        0        0.2
fi

[ "$failures" -eq 0 ] || exit 1
echo "all cases passed"
