#!/usr/bin/env bash
# Lets the n-th open, write, sync, close, rename, ... of a run fail, once or from then on, with a disk error; or lets a
# write do only half of its work (fail_nth.cpp). Checkpoints lie in one file or in several, and are written in the
# background or not. The run must end with status 0 and all its work done, or with status 3, and must print the system's
# reason. Every file with a checkpoint's name must verify. The same command must then continue to the numbers and the
# state of an undisturbed run, bit for bit, and leave no other files.
# usage: fail_every.sh TRIAX MPIEXEC FLAG LIBRARY [MOST [SEED]]
# MOST: number of calls of each kind to fail, drawn at random (the test suite: 1); 0: every one (hours)
# SEED: seed of the draw; default TRIAX_FAULT_SEED, or 1
set -u
. "$(dirname "$0")/functions.sh"
triax=$1 mpiexec=$2 flag=$3 library=$4 most=${5:-1} seed=${6:-${TRIAX_FAULT_SEED:-1}}
begin_work
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
RANDOM=$seed
echo "seed $seed"
drawn=0 tried=0 ended_3=0 failures=0

make_text 300
make_job 1 2 16 16 4 '
 "data": {"train": ["text"], "seq_length": 16}, "parallel": {"data": "auto"}, "zero_optimization": {"stage": 1},
 "run": {"steps": 4, "directory": "run", "collective_timeout": "10s", "progress": "none"},
 "checkpoint": {"interval": 2, "keep": 1}, "gradient_clipping": 1.0,'

fail() {
  echo "FAILED: $what: $*"
  tail -n 12 out | cut -c1-400
  failures=$((failures + 1))
}

train() { timeout 300 "$mpiexec" "$flag" "$ranks" "$@" "$triax" train job.json \
  --set checkpoint.files="$files" --set checkpoint.async="$async" > out 2>&1; }
names() { (cd "$1" && find . ! -name .lock | sort); }
text_of() { [ "$1" = 5 ] && echo "Input/output error" || echo "No space left on device"; }

# Checks that a run is complete: its numbers, its last state, and no other files.
check_done() {
  cmp <(numbers run) <(numbers whole) || return 1
  "$triax" checkpoint diff --tensors run/checkpoints/step-000004.h5 whole/checkpoints/step-000004.h5 > out 2>&1 || return 1
  # An older checkpoint stays if the run cannot tell whether the last one is safe.
  cmp <(names run | sed "/step-000002/d; /metrics.jsonl.superseded/d; s/parts-[0-9]*/parts/") <(names whole | sed /step-000002/d)
}

try() {  # rank kind nth last error
  what="$files file(s), async $async, $ranks rank(s), rank $1, $2 $3${4:+ and all after it}, error $5 (seed $seed)"
  rm -rf run log
  drawn=$((drawn + 1))
  train env LD_PRELOAD="$library" FAIL_BELOW="$work/run" FAIL_LOG="$work/log" FAIL_RANK="$1" FAIL_KIND="$2" \
    FAIL_NTH="$3" FAIL_LAST="$4" FAIL_ERROR="$5"
  local status=$? file
  grep -q ^failed log || return  # the number of calls differs between runs
  tried=$((tried + 1))
  [ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "status $status"
  [ "$5" -eq 0 ] && [ "$status" -ne 0 ] && fail "half a write: status $status"
  # Failures without consequence are not reported: a reservation, the text of a lock file, a call that is repeated.
  [ "$status" -eq 0 ] && [ "$(grep -c "^checkpoint run/" out)" -eq 2 ] || grep -q "$(text_of "$5")" out ||
    fail "the reason is not said: $(grep ^failed log | head -n 1)"
  for file in run/checkpoints/step-??????.h5; do
    [ -e "$file" ] || continue
    "$triax" checkpoint verify "$file" > verify 2>&1 || { fail "$file does not verify"; cat verify; }
  done
  if [ "$status" -eq 0 ]; then
    [ -e run/checkpoints/step-000004.h5 ] || fail "status 0 without the last checkpoint"
  else
    ended_3=$((ended_3 + 1))
  fi
  if [ "$status" -ne 0 ]; then train || fail "the run does not go on: status $?"; fi
  check_done > out 2>&1 || fail "not the numbers, state or files of an undisturbed run"
}

try_each() {  # rank kind calls
  local nth
  for nth in $([ "$most" -eq 0 ] && seq "$3" || for _ in $(seq "$most"); do echo $((1 + (RANDOM * 32768 + RANDOM) % $3)); done); do
    case $((RANDOM % 3)) in
      0) try "$1" "$2" "$nth" "" 5 ;;
      1) try "$1" "$2" "$nth" 1000000 28 ;;
      2) [ "$2" = write ] && try "$1" "$2" "$nth" "" 0 || try "$1" "$2" "$nth" "" 28 ;;
    esac
  done
}

for way in "1 true" "2 true" "1 false"; do
  read -r files async <<< "$way"
  for ranks in 1 2; do
    rm -rf run whole log
    train env LD_PRELOAD="$library" FAIL_BELOW="$work/run" FAIL_LOG="$work/log" ||
      { what="files $files, async $async, ranks $ranks" fail "the undisturbed run"; exit 1; }
    mv run whole
    mapfile -t counted < <(sed -n 's/^count //p' log | sort)
    [ "${#counted[@]}" -eq $((8 * ranks)) ] || { what=counting fail "${#counted[@]} counts: ${counted[*]}"; exit 1; }
    for count in "${counted[@]}"; do
      read -r rank kind calls <<< "$count"
      [ "$calls" -eq 0 ] || try_each "$rank" "$kind" "$calls"
    done
  done
done
[ "$failures" -eq 0 ] || { echo "$failures of $tried failed"; exit 1; }
[ "$tried" -gt 0 ] && [ $((2 * tried)) -ge "$drawn" ] || { echo "FAILED: $tried of $drawn calls came"; exit 1; }
echo "$tried failures: $ended_3 runs ended with status 3 and went on, the others came to their end; the same bits as undisturbed"
