#!/usr/bin/env bash
# Trains on a small tmpfs that fills up during the run. Training continues, the failure is reported, and the last good
# checkpoint stays. Once there is space again, the delayed lines of metrics are written, and checkpoints too. A run that
# ends while the disk is full exits with status 3 and can be resumed. Numbers equal those of an undisturbed run.
# usage: test_full_disk.sh TRIAX MPIEXEC FLAG. Status 77: this user cannot mount a tmpfs.
set -u
. "$(dirname "$0")/functions.sh"
script=$(realpath "$0")
triax=$1 mpiexec=$2 flag=$3 launcher=
begin_work
mkdir "$work/disk"
if ! mount -t tmpfs -o size=4m none "$work/disk" 2> /dev/null; then
  rmdir "$work/disk" "$work"
  if [ -z "${TRIAX_OWN_MOUNTS:-}" ] && unshare -rm true 2> /dev/null; then TRIAX_OWN_MOUNTS=1 exec unshare -rm "$script" "$triax" "$mpiexec" "$flag"; fi
  echo "skipped: no tmpfs can be mounted here, neither as this user nor in a namespace of its own (unshare -rm)"
  exit 77
fi
trap 'kill -KILL $launcher $(ranks) 2> /dev/null; wait; umount "$work/disk"; rm -rf "$work"' EXIT

make_text 3000
make_job 2 2 48 32 4 '
 "data": {"train": ["text"], "seq_length": 32}, "parallel": {"data": "auto"}, "zero_optimization": {"stage": 1},
 "run": {"directory": "disk/run", "collective_timeout": "10s", "progress": "none"},
 "checkpoint": {"interval": 3, "keep": 1},'

die() {
  echo "FAILED ($files file(s)): $*"
  df disk
  ls -l disk disk/run disk/run/checkpoints
  tail -n 20 out | cut -c1-300
  exit 1
}
train() { timeout 120 "$mpiexec" "$flag" 2 "$triax" train job.json --set checkpoint.files="$files" "$@" > out 2>&1; }
newest() { ls disk/run/checkpoints/step-??????.h5 2> /dev/null | tail -n 1; }
# Each filling is a new file, because writing over the last one would first give its room back. The number is counted
# before the command: an external command's redirection is expanded in its child.
fill() { : $((fillers += 1)); cat /dev/zero > "disk/filler.$fillers" 2> /dev/null; }
# Full once more in the end: a checkpoint that was removed during the first filling left room for another.
full_and_said() { fill; grep -q "no checkpoint after" out && grep -q "keeps the lines in memory" out && { fill; true; }; }
written_again() { grep -q "that were kept in memory are written" out && [ "$(newest)" != "$last" ] && [ -n "$(newest)" ]; }

for files in 1 2; do
  rm -rf disk/* whole
  mount -o remount,size=4m disk
  fillers=0 last=
  train --set run.steps=1000000 &
  launcher=$!
  wait_for "the first checkpoint" eval '[ -n "$(newest)" ]'
  wait_for "the full disk to be said" full_and_said
  grep "no checkpoint after" out | grep -q "No space left on device\|no room for" || die "the reason is not said"
  last=$(newest)
  "$triax" checkpoint verify "$last" > verified 2>&1 || die "the last good checkpoint does not verify: $(cat verified)"
  kill -0 "$launcher" || die "training does not go on"
  rm disk/filler.*
  wait_for "what waited to be written" written_again
  kill -USR1 $(ranks)
  wait "$launcher"
  status=$?
  [ "$status" -eq 75 ] || die "status $status where 75 was expected"
  steps=$(numbers disk/run | wc -l)

  fill
  steps=$((steps + 40))
  train --set run.steps="$steps"
  status=$?
  [ "$status" -eq 3 ] || die "status $status of a run that ends on a full disk"
  grep -q "No space left on device" out || die "the reason is not said at the end"
  "$triax" checkpoint verify "$(newest)" > verified 2>&1 || die "the last checkpoint does not verify: $(cat verified)"
  rm disk/filler.*
  mount -o remount,size=64m disk  # a resumed run writes the metrics anew, beside the old ones
  train --set run.steps="$steps" || die "the run does not go on once there is room: status $?"
  if ls -d disk/run/checkpoints/* | grep -v '/step-[0-9]*\.h5\(\.parts\(-[0-9]*\)\?\)\?$'; then die "something is left"; fi
  train --set run.steps="$steps" --set run.directory=whole --set checkpoint.interval=0 || die "the undisturbed run"
  cmp <(numbers disk/run) <(numbers whole) || die "the numbers are not those of an undisturbed run"
  name=step-$(printf %06d "$steps").h5
  "$triax" checkpoint diff --tensors "disk/run/checkpoints/$name" "whole/checkpoints/$name" > out 2>&1 || die "the states differ"
  echo "$files file(s): $steps steps"
done
echo "passed"
