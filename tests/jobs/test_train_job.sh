#!/usr/bin/env bash
# Usage: test_train_job.sh SOURCE
# What jobs/train.sbatch makes of statuses, how often it has a job run again, where it finds the program, and what it gives
# its ranks: srun, scontrol, squeue and triax are stubs. tests/slurm tries it on a cluster.
set -euo pipefail
source=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"

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
if [[ $1 == --version ]]; then echo "MPI: ${LIBRARY:-MPICH Version: 4.0.2}"; exit; fi
if [[ $1 == config ]]; then
  [[ -z ${NO_CONFIG:-} ]] || { echo "triax: wrong"; exit 2; }
  printf '    "key": "%s",\n    "value": "%s",\n' run.directory "$PWD/run" checkpoint.directory "$PWD/run/checkpoints"
  exit
fi
echo "${OMP_NUM_THREADS:-none}" >threads
[[ -z ${STEP:-} ]] || date +%N >>run/metrics.jsonl
[[ -z ${CHECKPOINT:-} ]] || touch "run/checkpoints/step-$CHECKPOINT.h5"
exit "${STATUS:-0}"
STUB
cat >bin/scontrol <<'STUB'
#!/usr/bin/env bash
if [[ $1 == show && $2 == job ]]; then echo "   Command=${COMMAND:-} job.json"; exit; fi
echo "$1" >>asked
if [[ $(grep -c "^$1" asked 2>/dev/null) -le ${SILENT:-0} ]]; then echo "Unable to contact slurm controller" >&2; exit 1; fi
case $1 in
  show) printf 'MpiDefault = %s\nRequeueExit = (null)\n' "${DEFAULT:-none}" ;;
  requeue) touch requeued ;;
esac
STUB
cat >bin/squeue <<'STUB'
#!/usr/bin/env bash
echo squeue >>asked
if [[ $(grep -c squeue asked) -le ${SILENT:-0} ]]; then echo "Unable to contact slurm controller" >&2; exit 1; fi
echo "${STATE-RUNNING}"
STUB
printf '#!/bin/sh\n' >bin/sleep
# shellcheck disable=SC2016
printf '#!/bin/sh\necho ${ALLOWED:-16}\n' >bin/nproc
printf '#!/bin/sh\necho 16\n' >bin/getconf
chmod +x bin/*

# job STATUS [SCRIPT]: an attempt of job 7, which ends with STATUS; its log goes to log.
job() {
  local status=0
  rm -f options requeued asked
  PATH="$work/bin:$PATH" TRIAX=${PROGRAM-$work/bin/triax} SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_JOB_NUM_NODES=2 \
    SLURM_JOB_NODELIST=a,b SLURM_SUBMIT_DIR=$work/submit STATUS=$1 \
    bash "${2:-$source/jobs/train.sbatch}" job.json >log 2>&1 || status=$?
  [[ $status -eq ${EXPECTED:-$1} ]] || fail "status $status: $(cat log)"
}
says() { grep -qF -- "$2" "$1" || fail "$1 does not say: $2. It says: $(cat "$1")"; }
comes_back() { [[ -e requeued ]] || fail "job 7 does not come back: $(cat log)"; }
leaves_nothing() { [[ -z $(ls -A submit) ]] || fail "left in the directory of submission: $(ls -A submit)"; }
ends() {
  [[ ! -e requeued ]] || fail "job 7 comes back: $(cat log)"
  leaves_nothing
}
for variable in STEP CHECKPOINT RETRIES PLUGINS OMP_NUM_THREADS SLURM_CPUS_PER_TASK ALLOWED COMMAND LIBRARY DEFAULT SILENT STATE \
  NO_CONFIG; do
  export "${variable?}"
  unset "$variable"
done

# Done and wrong are the end; stopped comes back as often as it likes.
job 0; ends
job 2; ends
for _ in 1 2 3 4 5; do STEP=1 job 75; comes_back; done
leaves_nothing

# A run that fails in its steps: RETRIES times, which a checkpoint or a stop begins anew.
for _ in 1 2 3; do STEP=1 job 3; comes_back; done
STEP=1 job 3; ends
says log 'failed 4 times since its newest checkpoint (RETRIES=3)'
STEP=1 RETRIES=1 job 137; comes_back
STEP=1 RETRIES=1 CHECKPOINT=000010 job 137; comes_back
STEP=1 RETRIES=1 CHECKPOINT=000020 job 137; comes_back
# The newest is that of the last step, however many digits it has.
STEP=1 RETRIES=1 CHECKPOINT=999999 job 137; comes_back
STEP=1 RETRIES=1 CHECKPOINT=1000000 job 137; comes_back
STEP=1 RETRIES=1 job 75; comes_back
STEP=1 RETRIES=1 job 137; comes_back
STEP=1 RETRIES=1 job 137; ends
STEP=1 RETRIES=0 job 3; ends

# One that comes to no step is tried once more, also where it was stopped: its start may take longer than it has.
for status in 3 75; do
  job "$status"; comes_back
  job "$status"; ends
  says log 'ended 2 times before its first step'
done

# Failures that cannot be counted are the end.
rmdir submit
STEP=1 job 3
[[ ! -e requeued ]] || fail "a job comes back whose failures are not counted"
says log 'cannot be kept in'
mkdir submit

# Another segment follows, whatever the failures.
STEP=1 RETRIES=0 REQUEUE=no job 3; ends
EXPECTED=0 REQUEUE=no job 75; ends

# A controller that does not answer at once, or not at all: the job comes back, unless it is known to be cancelled.
STEP=1 SILENT=2 job 75; comes_back
STEP=1 STATE='' job 75; comes_back
STEP=1 STATE=COMPLETING job 75; ends
STEP=1 SILENT=100 job 75; ends
says log 'Slurm does not requeue job 7'

# Where triax config fails it is said, and RETRIES counts alone.
for _ in 1 2 3; do NO_CONFIG=1 job 3; comes_back; done
says log 'triax config says nothing of where the job writes, so that only RETRIES limits its failures: triax: wrong'
NO_CONFIG=1 job 3; ends

# The site's own interface of MPI; where it has none pmi2, for MPICH where srun has it.
for default in pmix cray_shasta pmi2; do
  DEFAULT=$default PLUGINS='none pmi2 pmix' job 0
  if grep -q -- --mpi options; then fail "options of srun where MpiDefault is $default: $(cat options)"; fi
done
LIBRARY='Open MPI v5.0.3' job 0
if grep -q -- --mpi options; then fail "options of srun for Open MPI: $(cat options)"; fi
SILENT=2 job 0
says options --mpi=pmi2

# And as many threads as processors where nothing confines a rank.
job 0
says options --mpi=pmi2
[[ $(<threads) == none ]] || fail "threads of a rank: $(<threads)"
PLUGINS='none pmix' job 0
if grep -q -- --mpi options; then fail "options of srun: $(cat options)"; fi
SLURM_MPI_TYPE=pmix job 0
says options --mpi=pmix
SLURM_CPUS_PER_TASK=4 ALLOWED=4 job 0
says options --cpus-per-task=4
[[ $(<threads) == none ]] || fail "threads of a rank that is confined: $(<threads)"
SLURM_CPUS_PER_TASK=4 job 0
[[ $(<threads) == 4 ]] || fail "threads of a rank that nothing confines: $(<threads)"
SLURM_CPUS_PER_TASK=4 OMP_NUM_THREADS=2 job 0
[[ $(<threads) == 2 ]] || fail "threads of a rank that the user set: $(<threads)"

# A chain whose segments would stop before they begin is not submitted; without a limit that it can read it is.
printf '#!/bin/sh\necho 7\n' >bin/sbatch
chmod +x bin/sbatch
printf '{}' >chained.json
chain() { PATH="$work/bin:$PATH" "$source/jobs/chain.sh" --segments 2 "$@" chained.json >log 2>&1; }
for times in '3' '00:03:00' '3:00' '0-0:3 --stop-before-end 3m' '1-1:00:00 --stop-before-end 1d1h' '2-0 --stop-before-end 172800.5'; do
  # shellcheck disable=SC2086
  if chain --time=$times; then fail "a chain of segments without time: $times"; fi
  says log 'no segment would come to a step'
done
for times in '4' '00:03:01' '3:01' '0-0:4 --stop-before-end 3m59s' '1-1:00:01 --stop-before-end 1d1h' UNLIMITED; do
  # shellcheck disable=SC2086
  chain --time=$times || fail "a chain is refused: $times: $(cat log)"
  [[ $(grep -cx 7 log) -eq 2 ]] || fail "the jobs of a chain: $(cat log)"
done

# A copy, as Slurm makes one of what was submitted: the original's folder is found, by its name, by a link, by a variable.
mkdir spool mine
cp "$source/jobs/train.sbatch" spool/slurm_script
cp "$source/jobs/train.sbatch" mine/copy.sh
ln -s "$source/jobs/train.sbatch" mine/linked.sbatch
COMMAND=$source/jobs/train.sbatch job 0 spool/slurm_script
COMMAND=$work/mine/linked.sbatch job 0 spool/slurm_script
job 0 mine/linked.sbatch
TRIAX_JOBS=$source/jobs COMMAND=$work/mine/copy.sh job 0 spool/slurm_script
COMMAND=$work/mine/copy.sh job 2 spool/slurm_script
says log 'set TRIAX_JOBS='

# The site's settings come before the program is looked for.
# shellcheck disable=SC2016
printf 'PATH=%s/modules:$PATH\nfalse\nunset_before="$never_set"\n' "$work" >env.sh
mkdir modules
printf '#!/bin/sh\necho from the module\nexit 0\n' >modules/triax
chmod +x modules/triax
mkdir -p prefix/share/triax
cp -r "$source/jobs" prefix/share/triax/jobs
PROGRAM='' TRIAX_ENV=$work/env.sh job 0 prefix/share/triax/jobs/train.sbatch
says log 'from the module'
TRIAX_ENV=$work/absent.sh job 2
says log 'cannot read TRIAX_ENV'

# Installed, it takes the program beside it.
mkdir prefix/bin
printf '#!/bin/sh\necho as installed\n' >prefix/bin/triax
chmod +x prefix/bin/triax
PROGRAM='' job 0 prefix/share/triax/jobs/train.sbatch
says log 'as installed'
echo passed
