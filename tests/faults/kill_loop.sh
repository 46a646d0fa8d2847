#!/usr/bin/env bash
# Kills a training job at random times, one rank or all of them, until the job reaches its end. After each kill the
# newest checkpoint must verify and the run must resume from it. At the end, metrics and last checkpoint equal those of
# an undisturbed run, bit for bit.
# usage: kill_loop.sh TRIAX MPIEXEC FLAG [KILLS [SEED]]      (the test suite: 10 kills; by hand: 200)
set -u
. "$(dirname "$0")/functions.sh"
triax=$1 mpiexec=$2 flag=$3 kills=${4:-${TRIAX_TEST_LONG:+200}} seed=${5:-1}
kills=${kills:-10}
begin_work
trap 'kill -KILL $(ranks) 2> /dev/null; rm -rf "$work"' EXIT
RANDOM=$seed

die() {
  echo "FAILED (seed $seed): $*"
  tail -n 20 out | cut -c1-300
  exit 1
}

make_text 3000
# One checkpoint per two steps of a few milliseconds, so that much of the time is spent writing.
make_job 2 2 64 32 4 '
 "data": {"train": ["text"], "valid": ["text"], "seq_length": 32},
 "parallel": {"tensor": 2, "data": "auto"}, "zero_optimization": {"stage": 1},
 "run": {"directory": "run", "collective_timeout": "5s", "progress": "none", "eval_interval": 5, "eval_steps": 1},
 "checkpoint": {"interval": 2, "keep": 3},'

lines() { [ -e run/metrics.jsonl ] && wc -l < run/metrics.jsonl || echo 0; }
newest() { ls run/checkpoints/step-??????.h5 2> /dev/null | tail -n 1; }
train() { timeout $((120 + 10 * kills)) "$mpiexec" "$flag" 2 "$triax" train job.json "$@" > out 2>&1; }

done_kills=0 in_write=0
# At least one kill must hit a write, however fast the machine.
while [ "$done_kills" -lt "$kills" ] || { [ "$in_write" -eq 0 ] && [ "$done_kills" -lt $((4 * kills)) ]; }; do
  before=$(lines)
  train --set run.steps=1000000 &
  launcher=$!
  for _ in $(seq 300); do  # until this start has made a step
    [ "$(lines)" -ne "$before" ] && break
    sleep 0.05
  done
  sleep "0.$(printf %03d $((RANDOM % 400)))"
  found=($(ranks))
  [ "${#found[@]}" -ge 2 ] || die "kill $done_kills: ${#found[@]} ranks run where 2 were expected"
  [ $((RANDOM % 2)) = 0 ] && found=("${found[RANDOM % 2]}")
  kill -KILL "${found[@]}" 2> /dev/null
  wait "$launcher" && die "kill $done_kills: the job ended with status 0"
  for _ in $(seq 100); do [ -z "$(ranks)" ] && break; sleep 0.1; done
  [ -z "$(ranks)" ] || die "kill $done_kills: processes are left"
  ls run/checkpoints/*.tmp > /dev/null 2>&1 && in_write=$((in_write + 1))
  file=$(newest)
  if [ -n "$file" ]; then
    "$triax" checkpoint verify "$file" > out 2>&1 || die "kill $done_kills: $file does not verify"
  fi
  done_kills=$((done_kills + 1))
done

[ "$in_write" -gt 0 ] || die "none of $done_kills kills fell into a checkpoint's write"

last=$(basename "$(newest)" .h5)
last=$((10#${last#step-} + 3))
train --set run.steps="$last" || die "the run did not go on to its end"
train --set run.steps="$last" --set run.directory=whole || die "the undisturbed run failed"
cmp <(numbers run) <(numbers whole) || die "the metrics are not those of an undisturbed run"
name=step-$(printf %06d "$last").h5
"$triax" checkpoint diff --tensors "run/checkpoints/$name" "whole/checkpoints/$name" > out 2>&1 || die "the states differ"
echo "$done_kills kills, $in_write of them within a checkpoint's write; $last steps, the same bits as undisturbed"
