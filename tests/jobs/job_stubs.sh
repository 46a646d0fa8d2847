# shellcheck shell=bash
# Sourced by test_train_job.sh and test_surroundings.sh behind support/script.sh: attempts of a job whose Slurm and triax are
# stubs, which do as variables say.
mkdir -p bin run/checkpoints submit
cat >bin/srun <<'STUB'
#!/usr/bin/env bash
if [[ $1 == --mpi=list ]]; then echo "${PLUGINS:-none pmi2}"; exit; fi
while [[ $1 == --* ]]; do echo "$1" >>options; shift; done
exec "$@"
STUB
# A run makes a step, or none; writes a checkpoint, or none; ends with a status.
cat >bin/triax <<'STUB'
#!/usr/bin/env bash
if [[ $1 == --version ]]; then printf 'MPI: %s\n%s\n' "${LIBRARY:-MPICH Version: 4.0.2}" "${CODE:-no GPU code}"; exit; fi
if [[ $1 == config ]]; then
  [[ -z ${NO_CONFIG:-} ]] || { echo "triax: wrong"; exit 2; }
  directory=${DIRECTORY:-$PWD/run}
  json=${directory//\\/\\\\}
  json=${json//\"/\\\"}
  printf '    "key": "%s",\n    "value": "%s",\n' run.directory "$json" checkpoint.directory "$json/checkpoints"
  exit
fi
echo "${OMP_NUM_THREADS:-none}" >threads
echo "$0 $*" >ran
env >environment
[[ -z ${STEP:-} ]] || date +%N >>"${DIRECTORY:-run}/metrics.jsonl"
[[ -z ${CHECKPOINT:-} ]] || touch -- "${DIRECTORY:-run}/checkpoints/step-$CHECKPOINT.h5"
exit "${STATUS:-0}"
STUB
cat >bin/scontrol <<'STUB'
#!/usr/bin/env bash
if [[ $1 == show && $2 == job ]]; then
  echo asked >>asked_where
  [[ $(wc -l <asked_where) -gt ${DOWN:-0} ]] || { echo "Unable to contact slurm controller" >&2; exit 1; }
  printf 'JobId=7 JobName=x\n   Command=%s job.json\n' "${COMMAND:-}"
  exit
elif [[ $1 == --oneliner ]]; then
  echo "JobId=8 Requeue=5 Restarts=5"
  echo "JobId=7 JobName=a b Requeue=${REQUEUEABLE:-1} Restarts=2 TRES=cpu=4,${TRES:-node=1} Command=${COMMAND:-}"
  exit
fi
echo "$1" >>asked
if [[ $(grep -c "^$1" asked 2>/dev/null) -le ${SILENT:-0} ]]; then echo "Unable to contact slurm controller" >&2; exit 1; fi
case $1 in
  show) printf 'MpiDefault = %s\nRequeueExit = %s\n' "${DEFAULT:-none}" "${REQUEUE_EXIT:-(null)}" ;;
  requeue) echo "$2" >requeued ;;
esac
STUB
cat >bin/squeue <<'STUB'
#!/usr/bin/env bash
echo squeue >>asked
if [[ $(grep -c squeue asked) -le ${SILENT:-0} ]]; then echo "Unable to contact slurm controller" >&2; exit 1; fi
[[ -z "${SQUEUE_STATES:-}${SLURM_TIME_FORMAT:-}" ]] || exit 0
case $* in
  *%F*) echo "${LISTED:-}" ;;
  *%e*) echo "${END:-}" ;;
  *) echo "${STATE-RUNNING}" ;;
esac
STUB
printf '#!/bin/sh\n' >bin/sleep
# shellcheck disable=SC2016
printf '#!/bin/sh\necho ${ALLOWED:-16}\n' >bin/nproc
printf '#!/bin/sh\necho 16\n' >bin/getconf
chmod +x bin/*

# job STATUS [SCRIPT [ARGUMENT]...]: an attempt of job 7, which ends with STATUS; its log goes to log.
job() {
  local status=0
  rm -f options requeued asked asked_where ran
  PATH="$work/bin:$PATH" TRIAX=${PROGRAM-$work/bin/triax} SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_JOB_NUM_NODES=2 \
    SLURM_JOB_NODELIST=a,b SLURM_SUBMIT_DIR=$work/submit STATUS=$1 \
    bash "${2:-$source/jobs/train.sbatch}" job.json "${@:3}" >log 2>&1 || status=$?
  [[ $status -eq ${EXPECTED:-$1} ]] || fail "status $status: $(cat log)"
}
says() { grep -qF -- "$2" "$1" || fail "$1 does not say: $2. It says: $(cat "$1")"; }
comes_back() { [[ -e requeued ]] || fail "job 7 does not come back: $(cat log)"; }
leaves_nothing() { [[ -z $(ls -A submit) ]] || fail "left in the directory of submission: $(ls -A submit)"; }
ends() {
  [[ ! -e requeued ]] || fail "job 7 comes back: $(cat log)"
  leaves_nothing
}
unset "${!SLURM_@}" "${!SQUEUE_@}" TRIAX_ENV TRIAX_JOBS LAUNCHER REQUEUE
for variable in STEP CHECKPOINT RETRIES PLUGINS OMP_NUM_THREADS SLURM_CPUS_PER_TASK ALLOWED COMMAND LIBRARY DEFAULT SILENT STATE \
  NO_CONFIG DOWN REQUEUEABLE REQUEUE_EXIT LISTED END CODE TRES DIRECTORY; do
  export "${variable?}"
  unset "$variable"
done
