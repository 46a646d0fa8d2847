# shellcheck shell=bash
# shellcheck disable=SC2154
# Sourced by the .sbatch files, which set $jobs to this folder: what they share.

# The head of a script, down to its first empty line, is its help.
print_help() { sed -n '2,/^$/s/^# \{0,1\}//p' "$1"; }

# begin_job NAME ARGUMENT...: prints the help where it is asked for, ends outside Slurm, and sets
#   name   NAME                  job    as Slurm's commands take it; an index of an array is a job of its own
#   triax  the program: $TRIAX, that of the checkout or the installation, or the one on PATH
#   benchmarks  the folder of theirs: $BENCHMARKS, or likewise
#   mpi    the options of srun that fit the MPI: Slurm is asked once, not at each launch
# $TRIAX_ENV is sourced first: modules, and what else the site's programs need.
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
  if [[ -n ${TRIAX_ENV:-} ]]; then
    [[ -r $TRIAX_ENV ]] || fail "cannot read TRIAX_ENV=$TRIAX_ENV"
    set +eu  # such files are not written for these
    # shellcheck source=/dev/null
    . "$TRIAX_ENV"
    set -eu
  fi
  find_programs
  set_end_time
  mpi=()
  if [[ ${LAUNCHER:-srun} == srun ]]; then mapfile -t mpi < <(mpi_option); fi
  echo "$name: job $job, restart ${SLURM_RESTART_COUNT:-0}, ${SLURM_NTASKS:-1} ranks on $SLURM_JOB_NODELIST"
}

fail() {
  echo "$name: $*" >&2
  exit 2
}

find_programs() {
  local build=$jobs/../build installed=$jobs/../../.. own
  case $jobs in
    */share/triax/jobs) own=$installed/bin/triax benchmarks=${BENCHMARKS:-$installed/libexec/triax} ;;
    *) own=$build/src/triax benchmarks=${BENCHMARKS:-$build/benchmarks} ;;
  esac
  triax=$(command -v "${TRIAX:-$own}" || { [[ -z ${TRIAX:-} ]] && command -v triax; }) ||
    fail "there is no program ${TRIAX:-$own}. Build it (jobs/test.sh), or set TRIAX=FILE"
}

# Slurm before 23.02 does not set SLURM_JOB_END_TIME, and a job that was submitted by a job has that one's.
set_end_time() {
  local end
  if end=$(squeue --noheader --format=%e --jobs="$job") && end=$(date --date="$end" +%s 2>/dev/null); then
    export SLURM_JOB_END_TIME=$end
  fi
}

# What a rank is started by. Where Slurm does not confine it to its --cpus-per-task, it would share out the whole node with
# the ranks beside it; where Slurm does, triax finds the cores itself, and binds a thread to each.
# shellcheck disable=SC2016
readonly as_rank='
  if [[ -z ${OMP_NUM_THREADS:-} && $(nproc) -gt ${SLURM_CPUS_PER_TASK:-100000} && $(nproc) == $(getconf _NPROCESSORS_ONLN) ]]; then
    export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
  fi
  exec "$@"'

# thrice COMMAND...: until it succeeds. Slurm's controller may be busy, or restarting.
thrice() {
  local try
  for try in 1 2 3; do
    if timeout -k 5 60 "$@"; then return; fi
    [[ $try -eq 3 ]] || sleep 10
  done
  return 1
}

# What the site's slurm.conf says of a key; nothing where it says nothing, or Slurm does not answer.
slurm_setting() { { thrice scontrol show config || true; } | sed -n "s/^$1 *= *//p"; }

# srun's --mpi: what the site has set, and else what MPICH speaks. An option here would overrule what fits the site's MPI.
mpi_option() {
  local default
  if [[ -n ${SLURM_MPI_TYPE:-} ]]; then
    echo "--mpi=$SLURM_MPI_TYPE"
    return
  fi
  default=$(slurm_setting MpiDefault)
  if [[ (-z $default || $default == none || $default == "(null)") &&
    " $(srun --mpi=list 2>&1 | tr -s '[:space:],:' ' ' || true) " == *" pmi2 "* ]] &&
    "$triax" --version 2>/dev/null | grep -i '^MPI:.*mpich' >/dev/null; then
    echo --mpi=pmi2
  fi
}

# launch PROGRAM...: on every rank of the job, or on $RANKS of them on as few nodes as hold so many, with $CPUS_A_RANK where
# that is not the job's --cpus-per-task; the status is the launcher's. Signals that reach the script (sbatch
# --signal=B:USR1@180, scancel --batch) go on to the ranks; $forwarded says if any did.
launch() {
  local ranks=${RANKS:-$SLURM_NTASKS} nodes=${SLURM_JOB_NUM_NODES:-1} launcher status signalled=yes
  local cpus=${CPUS_A_RANK:-${SLURM_CPUS_PER_TASK:-}}
  local -a options=(${mpi[@]+"${mpi[@]}"})
  forwarded=
  case ${LAUNCHER:-srun} in
    srun)
      if [[ -n $cpus ]]; then options+=(--cpus-per-task="$cpus"); fi
      # Without --nodes, fewer ranks than the job has would be spread over all of its nodes; with sbatch --export=NONE they
      # would not see what is set here.
      srun --ntasks="$ranks" --nodes="$(((ranks * nodes + SLURM_NTASKS - 1) / SLURM_NTASKS))" --kill-on-bad-exit=1 \
        --export=ALL ${options[@]+"${options[@]}"} bash -c "$as_rank" rank "$@" &
      ;;
    mpiexec)
      # Open MPI binds each of few ranks to one core, whatever threads it has; triax finds its cores itself.
      if mpiexec --version 2>&1 | grep -iE 'open ?(mpi|rte)' >/dev/null; then options=(--bind-to none); fi
      mpiexec -n "$ranks" ${options[@]+"${options[@]}"} bash -c "$as_rank" rank "$@" &
      ;;
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
  local status=0 settings before
  # Where the job is wrong the ranks say so, too.
  if ! settings=$(timeout -k 5 120 "$triax" config "$@" --ranks "${SLURM_NTASKS:-1}" --json 2>&1); then
    echo "$name: triax config says nothing of where the job writes, so that only RETRIES limits its failures: ${settings:-no answer}" >&2
    settings=
  fi
  before=$(last_line)
  launch "$triax" train "$@" || status=$?
  # mpiexec that was signalled may leave with 0 whatever its ranks said. A run that is done says so once more.
  if [[ $status == 0 && -n $forwarded && ${LAUNCHER:-srun} == mpiexec ]]; then status=75; fi
  case $status in
    0 | 2) forget_failures; exit "$status" ;;  # done, or wrong: again would change nothing
    75)
      echo "$name: job $job was stopped, to be run again"
      if [[ -z $(value_of run.directory) || $(last_line) != "$before" ]]; then
        forget_failures
      elif [[ ${REQUEUE:-yes} != no ]] && ! is_worth_a_try "$status" "$before"; then  # its start may take longer than it has
        forget_failures
        exit "$status"
      fi
      ;;
    *)
      echo "$name: job $job failed with status $status"
      if [[ ${REQUEUE:-yes} != no ]] && ! is_worth_a_try "$status" "$before"; then
        forget_failures
        exit "$status"
      fi
      ;;
  esac
  run_again "$status"
}

# value_of KEY: in $settings.
value_of() { sed -n "/^ *\"key\": \"$1\"/{n;s/^ *\"value\": \"\(.*\)\",\$/\1/p}" <<<"$settings"; }

last_line() { tail -n 1 "$(value_of run.directory)/metrics.jsonl" 2>/dev/null || true; }

newest_checkpoint() {
  find "$(value_of checkpoint.directory)" -maxdepth 1 -name 'step-*.h5' -printf '%f\n' 2>/dev/null | sort -V | tail -n 1
}

# The failures of this job since its newest checkpoint, a line each: Slurm keeps no count of them, and the log may be anywhere.
failures_file() { echo "${SLURM_SUBMIT_DIR:-$PWD}/.triax-$job.failures"; }
forget_failures() { rm -f "$(failures_file)"; }

# is_worth_a_try STATUS LAST_LINE: whether to run a job again that has failed with STATUS: RETRIES times, and once where this
# attempt has left metrics.jsonl with its LAST_LINE, for a run that comes to no step will hardly come to one.
is_worth_a_try() {
  local file newest stepped=yes count idle retries=${RETRIES:-3}
  file=$(failures_file)
  newest=$(newest_checkpoint)
  # Where it is not known where the run writes, RETRIES alone counts.
  if [[ -n $(value_of run.directory) && $(last_line) == "$2" ]]; then stepped=no; fi
  # Behind a new checkpoint the count begins anew: a long run may meet any number of bad nodes.
  if ! grep -q "behind ${newest:-nothing}," "$file" 2>/dev/null; then forget_failures; fi
  if ! echo "$(date +%FT%T) status $1 behind ${newest:-nothing}, steps: $stepped" >>"$file"; then
    echo "$name: job $job is not run again: how often it has failed cannot be kept in $file" >&2
    return 1
  fi
  count=$(grep -c . "$file")
  idle=$(grep -c 'steps: no$' "$file")
  if [[ $count -gt $retries ]]; then
    echo "$name: job $job is not run again: it has failed $count times since its newest checkpoint (RETRIES=$retries)" >&2
    return 1
  elif [[ $idle -gt 1 ]]; then
    echo "$name: job $job is not run again: it has ended $idle times before its first step" >&2
    return 1
  fi
}

# run_again STATUS: ends the script so that Slurm runs the job again, from the newest checkpoint.
run_again() {
  if [[ ${REQUEUE:-yes} == no ]]; then  # jobs/chain.sh: the next segment goes on
    [[ $1 -ne 75 ]] || exit 0
    exit "$1"
  fi
  # One that was cancelled, or has no time left to be asked, is not to come back. Where Slurm says nothing it is neither.
  local state
  state=$(thrice squeue --noheader --format=%T --jobs="$job") || state=
  [[ ${state:-RUNNING} == RUNNING ]] || exit "$1"
  if [[ ,$(slurm_setting RequeueExit), == *,75,* ]]; then exit 75; fi
  thrice scontrol requeue "$job" || {
    echo "$name: Slurm does not requeue job $job. Submit it again: it goes on from its newest checkpoint" >&2
    exit "$1"
  }
  sleep 60  # Slurm ends the script
  exit "$1"
}
