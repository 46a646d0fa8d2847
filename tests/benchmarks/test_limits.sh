#!/usr/bin/env bash
# A benchmark takes the cores that are its own, says what it ran on, and counts no core twice; no time is looked at.
# Usage: test_limits.sh BENCH_LIMITS
set -euo pipefail
limits=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
says() { grep -qF -- "$2" "$1" || fail "$1 does not say: $2 ($(cat "$1"))"; }
unset OMP_NUM_THREADS
export OMP_WAIT_POLICY=passive  # two threads on one core need not spin

core=$(awk '/^Cpus_allowed_list/ { split($2, first, "[-,]"); print first[1] }' /proc/self/status)
taskset -c "$core" "$limits" >out 2>error || fail "status $?: $(cat error)"
says out '"ranks":1,"threads":1,"cores":1'
[[ $(head -n 1 out) == '{"benchmark":"machine","host":'*', commit '* ]] ||
  fail "the first line is not of the machine: $(cat out)"
[[ $(grep -c '"benchmark":"limits"' out) -eq 3 ]] || fail "three limits have a line each: $(cat out)"
! grep -q WARNING error || fail "one thread on one core is warned of: $(cat error)"

taskset -c "$core" "$limits" --threads 2 >out 2>error || fail "status $?: $(cat error)"
says out '"threads":2,"cores":1,"pinned":false'
says error 'WARNING: 2 thread(s) a rank on 1 of'
