#!/usr/bin/env bash
# MPI_Finalize that does not return: processes exit after run.collective_timeout, with the status of the run.
# usage: test_late_finalize.sh TRIAX MPIEXEC FLAG LIBRARY
set -u
. "$(dirname "$0")/functions.sh"
triax=$1 mpiexec=$2 flag=$3 library=$4
begin_work
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
make_text 300
make_job 1 2 16 16 4 '
 "data": {"train": ["text"], "seq_length": 16}, "parallel": {"data": "auto"},
 "run": {"steps": 4, "directory": "run", "collective_timeout": "2s", "progress": "none"},'

die() {
  echo "FAILED: $*"
  tail -n 20 out | cut -c1-400
  exit 1
}

begin=$SECONDS
timeout 250 "$mpiexec" "$flag" 2 env LD_PRELOAD="$library" bash -c '"$0" train job.json; echo "status $?"' "$triax" > out 2>&1
[ $((SECONDS - begin)) -lt 150 ] || die "it took $((SECONDS - begin)) s"
grep -q "MPI_Finalize has not returned for 2 s" out || die "it is not said"
# The launcher may end the others when the first has left.
grep -q "^status 0" out || die "no process ended with the status of its run"
if grep -q "^status 3" out; then die "a process failed"; fi
"$triax" checkpoint verify run/checkpoints/step-000004.h5 > verified 2>&1 || die "$(cat verified)"
echo "processes left in time"
