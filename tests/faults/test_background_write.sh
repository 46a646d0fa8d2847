#!/usr/bin/env bash
# Background writes of checkpoints (checkpoint.async) that fail once, fail twice or take long. Training continues
# meanwhile. A write that failed is repeated once from the same state; after a second failure that step has no
# checkpoint, and the others stay. Without checkpoint.async, training waits. fail_nth.cpp fails or holds the calls.
# usage: test_background_write.sh TRIAX MPIEXEC FLAG LIBRARY
set -u
. "$(dirname "$0")/functions.sh"
begin_held_work "$@"
make_job 1 2 16 16 4 '
 "data": {"train": ["text"], "seq_length": 16}, "parallel": {"data": "auto"}, "zero_optimization": {"stage": 1},
 "run": {"steps": 16, "directory": "run", "collective_timeout": "30s", "progress": "none"},
 "checkpoint": {"interval": 4, "keep": 0}, "gradient_clipping": 1.0,'

die() {
  echo "FAILED: $what: $*"
  ls run/checkpoints
  cat log
  tail -n 20 out | cut -c1-400
  exit 1
}
file_of() { printf '%s/checkpoints/step-%06d.h5' "$1" "$2"; }
steps_done() { [ -e run/metrics.jsonl ] && wc -l < run/metrics.jsonl || echo 0; }

# Starts a run of 2 ranks with the given faults. check_run waits for its end.
train() {  # files async VARIABLE=VALUE...
  local files=$1 async=$2
  shift 2
  rm -rf run log gate
  timeout 300 "$mpiexec" "$flag" 2 env LD_PRELOAD="$library" FAIL_BELOW="$work/run" FAIL_LOG="$work/log" "$@" \
    "$triax" train job.json --set checkpoint.files="$files" --set checkpoint.async="$async" > out 2>&1 &
  launcher=$!
}
held() { grep -q ^held log 2> /dev/null; }
reached() { [ "$(steps_done)" -ge "$1" ]; }

# Checks that the run ended well with the numbers of an undisturbed one, and that these checkpoints have its state.
check_run() {  # steps...
  local step
  wait "$launcher" || die "status $?"
  cmp <(numbers run) <(numbers whole) || die "not the numbers of an undisturbed run"
  [ "$(ls run/checkpoints | grep -c '\.h5$')" -eq $# ] || die "not the checkpoints $*"
  if ls run/checkpoints | grep tmp; then die "something is left"; fi
  for step in "$@"; do
    "$triax" checkpoint verify "$(file_of run "$step")" > verified 2>&1 || die "step $step does not verify: $(cat verified)"
    "$triax" checkpoint diff --tensors "$(file_of run "$step")" "$(file_of whole "$step")" > verified 2>&1 ||
      die "step $step is not the state of an undisturbed run: $(cat verified)"
  done
}
failed_calls() { [ "$(grep -c ^failed log)" -eq "$1" ] || die "$(grep -c ^failed log) calls failed where $1 were to"; }

# The first call for step 4 fails after training has continued as far as it can: until step 8 is due.
fails_once() {  # files rank kind
  what="$1 file(s), rank $2, $3 fails once"
  train "$1" true FAIL_THREAD=background FAIL_RANK="$2" FAIL_KIND="$3" FAIL_NTH=1 FAIL_ERROR=5 FAIL_HOLD="$work/gate"
  wait_for "a write to be held" held
  wait_for "more steps" reached 8
  touch gate
  check_run 4 8 12 16
  failed_calls 1
  grep "Input/output error" out | grep -q "Writing it again" || die "the second attempt is not said"
  grep -q "training waits for run/checkpoints/step-000004.h5" out || die "that training waits is not said"
  if grep "no checkpoint" out; then die "a checkpoint is given up"; fi
}

# The calls of step 4 succeed, and step 8 fails twice; step 12's write starts afterwards. A rank that syncs several
# files continues after a failure.
fails_twice() {  # files rank kind calls-of-the-kind-for-a-checkpoint calls-of-an-attempt-that-fail
  what="$1 file(s), rank $2, $3 fails twice"
  train "$1" true FAIL_THREAD=background FAIL_RANK="$2" FAIL_KIND="$3" FAIL_NTH=$(($4 + 1)) FAIL_LAST=$(($4 + 1 + $5)) FAIL_ERROR=5
  check_run 4 12 16
  failed_calls $(($5 + 1))
  [ "$(grep -c "Writing it again" out)" -eq 1 ] || die "not one second attempt is said"
  grep "no checkpoint after 8 of 16 steps, training goes on" out | grep -q "Input/output error" || die "the failure is not said"
}

# The last checkpoint, which is not written in the background, is due when the previous one fails.
is_overtaken() {  # rank kind calls-of-the-kind-for-a-checkpoint
  what="rank $1, $2 fails when the last checkpoint is due"
  train 1 true FAIL_THREAD=background FAIL_RANK="$1" FAIL_KIND="$2" FAIL_NTH=$((2 * $3 + 1)) FAIL_ERROR=5 FAIL_HOLD="$work/gate"
  wait_for "a write to be held" held
  wait_for "more steps" reached 16
  touch gate
  check_run 4 8 16
  failed_calls 1
  if grep -q "Writing it again" out; then die "it is written again though a newer one is due"; fi
  grep "no checkpoint after 12 of 16 steps" out | grep -q "Input/output error" || die "the failure is not said"
}

goes_on() {  # files rank kind
  what="$1 file(s), rank $2 is held in a $3 in the background"
  train "$1" true FAIL_THREAD=background FAIL_RANK="$2" FAIL_KIND="$3" FAIL_NTH=1 FAIL_HOLD="$work/gate"
  wait_for "a write to be held" held
  wait_for "more steps" reached 8
  [ -e "$(file_of run 4).tmp" ] && [ ! -e "$(file_of run 4)" ] || die "the file has its name while a rank writes it"
  [ "$(steps_done)" -eq 8 ] || die "$(steps_done) steps are done before the state of step 8 is copied"
  touch gate
  check_run 4 8 12 16
  if grep -q "Writing it again" out; then die "what takes long is written again"; fi
}

# checkpoint.async is false. Rank 1's first call of this kind is for step 4's file.
is_retried() {  # kind
  what="rank 1, $1 fails once, not in the background"
  train 1 false FAIL_RANK=1 FAIL_KIND="$1" FAIL_NTH=1 FAIL_ERROR=5
  check_run 4 8 12 16
  failed_calls 1
  grep "Input/output error" out | grep -q "Writing it again" || die "the second attempt is not said"
}

# checkpoint.async is false: training waits for the held call.
waits() {  # kind
  what="rank 1 is held in a $1, not in the background"
  train 1 false FAIL_RANK=1 FAIL_KIND="$1" FAIL_NTH=1 FAIL_HOLD="$work/gate"
  wait_for "a write to be held" held
  grep -q "^held $1 .*/step-000004.h5.tmp$" log || die "held elsewhere"
  sleep 1
  [ "$(steps_done)" -eq 4 ] || die "training goes on: $(steps_done) steps"
  touch gate
  check_run 4 8 12 16
}

for files in 1 2; do
  rm -rf whole
  what="$files file(s), undisturbed"
  train "$files" true FAIL_THREAD=background
  wait "$launcher" || die "status $?"
  declare -A calls=()
  while read -r _ rank kind count; do calls[$rank$kind]=$((count / 3)); done < <(grep ^count log)  # without step 16's
  for rank in 0 1; do
    [ "${calls[${rank}write]}" -gt 0 ] && [ "${calls[${rank}sync]}" -gt 0 ] || die "rank $rank writes nothing in the background"
  done
  mv run whole
  if [ "$files" -eq 1 ]; then
    fails_once 1 0 write
    fails_once 1 1 sync
    fails_twice 1 1 write "${calls[1write]}" 1
    is_overtaken 0 write "${calls[0write]}"
    goes_on 1 1 sync
    waits write
    is_retried write
    is_retried sync
  else
    fails_once 2 1 write
    fails_twice 2 0 sync "${calls[0sync]}" "${calls[0sync]}"
    goes_on 2 0 write
  fi
done
echo "passed"
