# shellcheck shell=bash
# Sourced by the tests of this folder, which have set $source to the checkout and TRIAX to the program: a directory
# $work with a text to train on, a cluster of two nodes (SLURM_CONF), both gone when the test ends, and functions that
# look at jobs.
# Status 77: skipped, with the reason printed.

PATH=$PATH:/usr/sbin:/sbin
unset "${!SLURM_@}"
for program in slurmctld slurmd sbatch munged mungekey; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed (slurm-wlm, munge)"; exit 77; }
done
[[ $(id -u) -eq 0 ]] || { echo "skipped: the daemons of a cluster are started by root"; exit 77; }

work=$(mktemp -d)
chmod 755 "$work"  # munged's socket is for all users
export SLURM_CONF=$work/cluster/slurm.conf
cd "$work" || exit

end() {
  local status=$?
  [[ $status -eq 0 ]] || tail -n 30 "$work"/*.out cluster/slurm*.log 2>/dev/null | cut -c1-250 || true
  timeout 90 scancel --user=root 2>/dev/null || true
  for _ in $(seq 50); do [[ -n $(timeout 90 squeue --noheader 2>/dev/null) ]] || break; sleep 0.2; done
  "$source/tests/slurm/cluster.sh" stop "$work/cluster" || true
  rm -rf "$work"
}
trap end EXIT
trap 'exit 1' TERM INT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Counts polls of a tenth of a second instead of the clock, which runs on while a virtual machine is paused.
wait_until() {  # seconds what command...
  local looks=$((10 * $1)) what=$2
  shift 2
  until "$@"; do
    [[ $((looks--)) -gt 0 ]] || fail "waited too long for: $what"
    sleep 0.1
  done
}

submit() { timeout 90 sbatch --parsable --time=10 "$@"; }
state() { timeout 90 scontrol show job "$1" | sed -n "s/^ *JobState=\([A-Z]*\) .*/\1/p" | sort -u; }
in_state() { [[ $(state "$1") == "$2" ]]; }
resume_now() { timeout 90 scontrol update job="$1" StartTime=now 2>/dev/null || true; }  # otherwise within 20 s
no_process() { ! pgrep -f "$1" >/dev/null; }

# Has a requeued job start, and waits until it runs. A node that had processes of its last start in the same second
# refuses the new one ("already killed"), and the job fails.
run_again() {
  wait_until 30 "the last start of job $1 to be gone" no_process "^slurmstepd: \[$1\."
  sleep 2
  resume_now "$1"
  wait_until 60 "job $1 to run again" in_state "$1" RUNNING
}

says() { grep -q -- "$2" "$1" || fail "$1 does not say: $2"; }
# Escapes a text for pgrep.
literally() { sed 's/[][\.^$*+?(){}|]/\\&/g' <<<"$1"; }

for i in $(seq 3000); do echo "line $i of a text to train on"; done >text
"$source/tests/slurm/cluster.sh" start "$work/cluster"
