# shellcheck shell=bash
# shellcheck disable=SC2154
# Sourced by the .sbatch files, which set $jobs to this folder: what they share.

# The head of a script, down to its first empty line, is its help.
print_help() { sed -n '2,/^$/s/^# \{0,1\}//p' "$1"; }

# begin_job NAME ARGUMENT...: prints the help where it is asked for, ends outside Slurm, and sets
#   name   NAME                  job    as Slurm's commands take it; an index of an array is a job of its own
#   build  the build folder      triax  the program: $TRIAX, that of the checkout, or the one on PATH
begin_job() {
  name=$1
  case ${2:-} in
    -h | --help) print_help "$jobs/$name"; exit 0 ;;
  esac
  if [[ -z ${SLURM_JOB_ID:-} ]]; then
    echo "$name: this is not a job of Slurm. Submit it: sbatch $jobs/$name ... (see bash $jobs/$name --help)" >&2
    exit 2
  fi
  job=$SLURM_JOB_ID
  if [[ -n ${SLURM_ARRAY_TASK_ID:-} ]]; then job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; fi
  build=$jobs/../build
  triax=$(command -v "${TRIAX:-$build/src/triax}" || { [[ -z ${TRIAX:-} ]] && command -v triax; }) ||
    fail "there is no program ${TRIAX:-$build/src/triax}. Build it (jobs/test.sh), or set TRIAX=FILE"
  # srun does not take it from the job, and without it triax shares a node's cores among its ranks by itself.
  if [[ -n ${SLURM_CPUS_PER_TASK:-} ]]; then export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$SLURM_CPUS_PER_TASK}; fi
  set_end_time
  echo "$name: job $job, restart ${SLURM_RESTART_COUNT:-0}, ${SLURM_NTASKS:-1} ranks on $SLURM_JOB_NODELIST"
}

fail() {
  echo "$name: $*" >&2
  exit 2
}

# Slurm before 23.02 does not set SLURM_JOB_END_TIME, and a job that was submitted by a job has that one's.
set_end_time() {
  local end
  if end=$(squeue --noheader --format=%e --jobs="$job") && end=$(date --date="$end" +%s 2>/dev/null); then
    export SLURM_JOB_END_TIME=$end
  fi
}

# launch PROGRAM...: on every rank of the job, or on $RANKS of them on as few nodes as hold so many; the status is the
# launcher's. Signals that reach the script (sbatch --signal=B:USR1@180, scancel --batch) go on to the ranks; $forwarded
# says if any did.
launch() {
  local ranks=${RANKS:-$SLURM_NTASKS} nodes=${SLURM_JOB_NUM_NODES:-1} launcher status signalled=yes
  forwarded=
  case ${LAUNCHER:-srun} in
    srun)
      # Without --nodes, fewer ranks than the job has would be spread over all of its nodes.
      srun --ntasks="$ranks" --nodes="$(((ranks * nodes + SLURM_NTASKS - 1) / SLURM_NTASKS))" --mpi="${SLURM_MPI_TYPE:-pmi2}" --kill-on-bad-exit=1 \
        ${SLURM_CPUS_PER_TASK:+--cpus-per-task="$SLURM_CPUS_PER_TASK"} "$@" &
      ;;
    mpiexec) mpiexec -n "$ranks" "$@" & ;;
    *) fail "LAUNCHER=$LAUNCHER is neither srun nor mpiexec" ;;
  esac
  launcher=$!
  trap 'signalled=yes; forwarded=yes; kill -USR1 "$launcher"' USR1
  trap 'signalled=yes; forwarded=yes; kill -TERM "$launcher"' TERM
  while [[ -n $signalled ]]; do  # a signal ends the wait, not the launcher
    signalled=
    status=0
    wait "$launcher" || status=$?
  done
  trap - USR1 TERM
  return "$status"
}

# train ARGUMENT...: triax train on all ranks, and again where it has not come to its end.
train() {
  local status=0
  launch "$triax" train "$@" || status=$?
  # mpiexec that was signalled may leave with 0 whatever its ranks said. A run that is done says so once more.
  if [[ $status == 0 && -n $forwarded && ${LAUNCHER:-srun} == mpiexec ]]; then status=75; fi
  case $status in
    0 | 2) exit "$status" ;;  # done, or wrong: again would change nothing
    75) echo "$name: job $job was stopped with a checkpoint" ;;
    *)
      echo "$name: job $job failed with status $status"
      if [[ $(failures) -gt ${RETRIES:-3} ]]; then exit "$status"; fi
      ;;
  esac
  run_again "$status"
}

# How often this job has failed: Slurm keeps no count of it, the log does (--open-mode=append).
failures() { grep --count --text "^$name: job $job failed" "$(readlink /proc/$$/fd/1)" 2>/dev/null || true; }

# run_again STATUS: ends the script so that Slurm runs the job again, from the newest checkpoint.
run_again() {
  if [[ ${REQUEUE:-yes} == no ]]; then  # jobs/chain.sh: the next segment goes on
    [[ $1 -ne 75 ]] || exit 0
    exit "$1"
  fi
  # One that was cancelled, or has no time left to be asked, is not to come back.
  [[ $(squeue --noheader --format=%T --jobs="$job") == RUNNING ]] || exit "$1"
  local statuses
  statuses=$(scontrol show config | sed -n 's/^RequeueExit *= *//p')
  if [[ ,$statuses, == *,75,* ]]; then exit 75; fi
  scontrol requeue "$job" || {
    echo "$name: Slurm does not requeue job $job. Submit it again: it goes on from its newest checkpoint" >&2
    exit "$1"
  }
  sleep 60  # Slurm ends the script
  exit "$1"
}
