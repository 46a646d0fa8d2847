# shellcheck shell=bash
# shellcheck disable=SC2154
# Functions of the .sbatch files, which set $jobs to this folder and source it.

name=slurm.sh
jobs=$(readlink -f "$jobs")  # TRIAX_JOBS may be relative, or have a slash at its end
# shellcheck source=jobs/messages.sh
. "$jobs/messages.sh"

# TRIAX_ENV loads the site's modules. It comes first, as it may use any name; outside a function, to which what it
# declares would be local; and without the script's arguments, which it would take for its own.
if [[ -n ${TRIAX_ENV:-} && -n ${SLURM_JOB_ID:-} ]]; then
  [[ $TRIAX_ENV == */* ]] || TRIAX_ENV=./$TRIAX_ENV  # bash would look on PATH first
  [[ -r $TRIAX_ENV ]] || fail "cannot read TRIAX_ENV=$TRIAX_ENV"
  triax_jobs=$jobs triax_arguments=("$@")
  set --
  set +euo pipefail  # such files are not written for these options
  # shellcheck source=/dev/null
  . "$TRIAX_ENV"
  set -euo pipefail
  jobs=$triax_jobs
  set -- ${triax_arguments[@]+"${triax_arguments[@]}"}
fi
# shellcheck source=jobs/requeue.sh
. "$jobs/requeue.sh"

# begin_job NAME ARGUMENT...: prints the help if asked, ends outside Slurm, and sets
#   name        NAME
#   job         the job's number as Slurm's commands take it; an index of an array is a job of its own
#   triax       the program: $TRIAX, or that of the checkout or the installation, or the one on PATH
#   benchmarks  the folder of the benchmarks: $BENCHMARKS, or that of the checkout or the installation
#   mpi         the options of srun that fit the MPI; Slurm is asked once, not at each launch
begin_job() {
  name=$1
  case ${2:-} in
    -h | --help) print_help "$jobs/$name"; exit 0 ;;
  esac
  if [[ -z ${SLURM_JOB_ID:-} ]]; then
    echo "$name: this is not a job of Slurm. Submit it: sbatch $jobs/$name ... (see bash $jobs/$name --help)" >&2
    exit 2
  fi
  early=
  remember_signals
  [[ -n ${SLURM_NTASKS:-} ]] || fail "the allocation says no number of ranks. Ask for them: --ntasks-per-node=N"
  if [[ ${SLURM_HET_SIZE:-1} -gt 1 && ${SLURM_JOB_ID_HET_GROUP_0:-} == "$SLURM_JOB_ID" ]]; then
    fail "a heterogeneous job is refused (srun would start only the ranks of its first component). Submit a job without ':'"
  fi
  forget_inherited
  find_job
  set_end_time
  find_programs
  mpi=()
  if [[ ${LAUNCHER:-srun} == srun ]]; then mapfile -t mpi < <(mpi_option); fi
  echo "$name: job $job, restart ${SLURM_RESTART_COUNT:-0}, $SLURM_NTASKS ranks on $SLURM_JOB_NODELIST"
}

# Handles signals while no ranks run: one to stop is remembered for the next launch. None ends the script, as Slurm
# would take that for a failure.
remember_signals() {
  trap 'early=yes' USR1 TERM
  trap : USR2
}

# Drops variables of another job: sbatch passes on those of the shell in which it is called.
forget_inherited() {
  unset SLURM_TIME_FORMAT "${!SQUEUE_@}"  # how somebody likes jobs to be listed
  # srun refuses two of these: one is from outside. It knows the job's memory without them.
  if [[ ${SLURM_MEM_PER_CPU:+x}${SLURM_MEM_PER_GPU:+x}${SLURM_MEM_PER_NODE:+x} == xx* ]]; then
    unset SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU SLURM_MEM_PER_NODE
  fi
  # srun sets these for its tasks. (SLURM_CPU_BIND alone is an option for srun.)
  if [[ -n ${SLURM_CPU_BIND_TYPE:-}${SLURM_CPU_BIND_LIST:-} ]]; then unset "${!SLURM_CPU_BIND@}"; fi
  # Slurm 23.11 and newer set both for a job; values that differ are from another one.
  if [[ ${SLURM_TRES_PER_TASK:-} =~ cpu[:=]([0-9]+) && ${BASH_REMATCH[1]} != "${SLURM_CPUS_PER_TASK:-${BASH_REMATCH[1]}}" ]]; then
    unset SLURM_TRES_PER_TASK
  fi
}

# Sets $job. A job submitted by an index of an array inherits its SLURM_ARRAY_ variables, and a job submitted by a
# requeued job inherits its SLURM_RESTART_COUNT: Slurm's answer, if there is one, replaces both.
find_job() {
  local index listed count
  job=$SLURM_JOB_ID
  if [[ -n ${SLURM_ARRAY_TASK_ID:-} ]]; then
    index=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
    listed=$(thrice squeue --noheader --format='%A %F_%K' --jobs="$job") || listed=
    if [[ -z $listed ]] || grep -qxF "$job $index" <<<"$listed"; then job=$index; else unset "${!SLURM_ARRAY_@}"; fi
  fi
  if [[ -n ${SLURM_RESTART_COUNT:-} ]]; then
    count=$(job_says Restarts)
    export SLURM_RESTART_COUNT=${count:-$SLURM_RESTART_COUNT}
  fi
}

# Sets SLURM_JOB_END_TIME: Slurm before 23.02 does not, and a job submitted by another job inherits that one's.
set_end_time() {
  local end
  end=$(timeout -k 5 60 squeue --noheader --format=%e --jobs="$job") || end=
  [[ -n $end ]] || return 0  # date would take an empty text for midnight
  unset SLURM_JOB_END_TIME
  if end=$(date --date="$end" +%s 2>/dev/null); then export SLURM_JOB_END_TIME=$end; fi
}

find_programs() {
  local prefix=$jobs/../../.. own=$jobs/../build/src/triax
  benchmarks=${BENCHMARKS:-$jobs/../build/benchmarks}
  if [[ ! -x $own && $jobs == */share/triax/jobs ]]; then  # not a checkout in a folder of that name
    own=$prefix/bin/triax benchmarks=${BENCHMARKS:-$prefix/libexec/triax}
  fi
  triax=$(command -v "${TRIAX:-$own}" || { [[ -z ${TRIAX:-} ]] && command -v triax; }) ||
    fail "there is no program ${TRIAX:-$own}. Build it (jobs/test.sh), or set TRIAX=FILE"
}

# Sets $triax to a program with GPU code (the preset cuda) if the job has GPUs and $triax has none. TRIAX is kept as the
# user set it. (Slurm's variables may be those of another job: Slurm is asked.)
need_gpu_code() {
  local with_code=$jobs/../build-cuda/src/triax
  [[ -n ${SLURM_GPUS_ON_NODE:-}${SLURM_JOB_GPUS:-} ]] || return 0
  "$triax" --version 2>/dev/null | grep -x 'no GPU code' >/dev/null || return 0
  if [[ -n ${TRIAX:-} ]]; then
    echo "$name: WARNING: TRIAX=$TRIAX has no GPU code: the ranks compute on processors" >&2
  elif [[ -x $with_code ]]; then
    triax=$with_code
  elif job_record | grep 'gres[:/]gpu' >/dev/null; then
    fail "the job has GPUs, but $triax has no code for them." \
      "Build one that has (cmake --preset cuda && cmake --build --preset cuda), or set TRIAX=FILE"
  fi
}

# Command that starts a rank. If Slurm does not confine the rank to its --cpus-per-task, the rank would share the whole
# node with its neighbours; if Slurm does, triax finds the cores itself and binds one thread to each.
# shellcheck disable=SC2016
readonly as_rank='
  if [[ -z ${OMP_NUM_THREADS:-} && $(nproc) -gt ${SLURM_CPUS_PER_TASK:-100000} && $(nproc) == $(getconf _NPROCESSORS_ONLN) ]]; then
    export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
  fi
  exec "$@"'

# thrice COMMAND...: tries it up to three times. Slurm's controller may be busy or restarting.
thrice() {
  local try
  for try in 1 2 3; do
    if timeout -k 5 60 "$@"; then return; fi
    [[ $try -eq 3 ]] || sleep 10
  done
  return 1
}

# job_record: Slurm's record of this job in one line; job_says KEY: one value of it. Nothing if Slurm does not answer.
# (For an index with the number of its array Slurm prints the other indices too.)
job_record() { { thrice scontrol --oneliner show job "$SLURM_JOB_ID" || true; } | sed -n "/^JobId=$SLURM_JOB_ID /p"; }
job_says() { job_record | sed -n "s/.* $1=\([^ ]*\).*/\1/p"; }

# slurm_setting KEY: its value in the site's slurm.conf; nothing if it has none, or Slurm does not answer.
slurm_setting() { { thrice scontrol show config || true; } | sed -n "s/^$1 *= *//p"; }

# Prints srun's --mpi: SLURM_MPI_TYPE; nothing if the site has a default, which fits its MPI; pmi2 for MPICH.
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

# launch PROGRAM...: runs it on every rank of the job, or on $RANKS ranks on as few nodes as hold them, with
# $CPUS_PER_RANK cores per rank if that differs from --cpus-per-task. The status is the launcher's, or 75. Signals that
# reach the script (sbatch --signal=B:USR1@180, scancel --batch) go on to the ranks; $forwarded says whether one to stop
# did.
launch() {
  local ranks=${RANKS:-$SLURM_NTASKS} nodes=${SLURM_JOB_NUM_NODES:-1} launcher status signalled=yes
  local cpus=${CPUS_PER_RANK:-${SLURM_CPUS_PER_TASK:-}}
  local -a options=(${mpi[@]+"${mpi[@]}"})
  forwarded=
  if [[ -n $early ]]; then  # the job's time is over, or somebody wants its nodes
    echo "$name: signalled before the ranks were started"
    return 75
  fi
  case ${LAUNCHER:-srun} in
    srun)
      if [[ -n $cpus ]]; then options+=(--cpus-per-task="$cpus"); fi
      # Without --nodes, fewer ranks than the job has would be spread over all of its nodes; with sbatch --export=NONE
      # they would not see what is set here.
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
  trap 'signalled=yes; forwarded=yes; kill -USR1 "$launcher" 2>/dev/null || true' USR1
  trap 'signalled=yes; forwarded=yes; kill -TERM "$launcher" 2>/dev/null || true' TERM
  # USR2 asks for a checkpoint. mpiexec would end by it.
  trap 'signalled=yes; [[ ${LAUNCHER:-srun} != srun ]] || kill -USR2 "$launcher" 2>/dev/null || true' USR2
  while [[ -n $signalled ]]; do  # a signal ends the wait, not the launcher
    signalled=
    status=0
    wait "$launcher" || status=$?
  done
  remember_signals
  return "$status"
}
