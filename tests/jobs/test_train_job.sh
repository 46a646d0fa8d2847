#!/usr/bin/env bash
# Usage: test_train_job.sh SOURCE
# What jobs/train.sbatch makes of statuses, how often it has a job run again, and what it gives its ranks; what jobs/chain.sh
# submits. Slurm and triax are stubs (job_stubs.sh). tests/slurm tries it on a cluster.
set -euo pipefail
source=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
. "$(dirname "${BASH_SOURCE[0]}")/job_stubs.sh"

# A fine-tuning that is done is exported; one that is stopped, wrong or failed is not.
finetune=$source/jobs/finetune.sbatch
STEP=1 CHECKPOINT=000010 job 0 "$finetune"; ends
says ran 'run/checkpoints/step-000010.h5 --to huggingface'
STEP=1 job 75 "$finetune"; comes_back
says ran 'train job.json'
job 2 "$finetune"; ends
says ran 'train job.json'
rm -r run; mkdir -p run/checkpoints

# A batch comes back until every line has its answer; a task of an array answers its part in a directory of its own.
batch=$source/jobs/batch.sbatch
job 75 "$batch" --model m --out answers; comes_back
says ran 'batch job.json --model m --out answers'
job 0 "$batch" --model m --out answers; ends
job 3 "$batch" --model m --out answers; comes_back
SLURM_RESTART_COUNT=2 RETRIES=2 job 3 "$batch" --model m --out answers
[[ ! -e requeued ]] || fail "a batch comes back after its last try"
SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=12 SLURM_ARRAY_TASK_MIN=8 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=4 \
  job 0 "$batch" --out=answers --model m; ends
says ran 'batch job.json --out=answers/part-2 --model m --part 2/4'

# Done and wrong are the end; stopped comes back as often as it likes.
job 0; ends
job 2; ends
for _ in 1 2 3 4 5; do STEP=1 job 75; comes_back; done
leaves_nothing

# One that is not to be requeued ends, and with no status by which Slurm would requeue it.
REQUEUEABLE=0 STEP=1 job 75; ends
REQUEUEABLE=0 STEP=1 REQUEUE_EXIT=70,75 EXPECTED=0 job 75; ends
REQUEUEABLE=0 STEP=1 job 3; ends
says log 'was submitted with --no-requeue'
STEP=1 REQUEUE_EXIT=75 job 75; ends

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

REQUEUE_EXIT=75 job 75
REQUEUE_EXIT=75 EXPECTED=3 job 75; ends

# Steps and checkpoints are seen whatever the name of the run's directory.
for directory in 'back\slash "quoted" \n[1]*' -p; do
  mkdir -p "./$directory/checkpoints"
  for _ in 1 2 3; do DIRECTORY=$directory STEP=1 job 3; comes_back; done
  DIRECTORY=$directory STEP=1 CHECKPOINT=000010 job 3; comes_back
  DIRECTORY=$directory STEP=1 job 0
done
leaves_nothing

# Where the directory of submission cannot be written failures are counted in the run's. Those that cannot be are the end.
rmdir submit
STEP=1 job 3; comes_back
[[ -s run/.triax-7.failures ]] || fail "failures are not counted in run.directory"
STEP=1 job 0
[[ ! -e run/.triax-7.failures ]] || fail "failures stay behind a run that is done"
NO_CONFIG=1 job 3
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
STEP=1 SILENT=100 job 3; ends
STEP=1 STATE=COMPLETING job 3; ends

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
printf '#!/bin/sh\necho "$@" >>submitted\n[ -z "$BANNER" ] || echo "$BANNER"\necho ${NUMBER-7}\n' >bin/sbatch
chmod +x bin/sbatch
printf '{}' >chained.json
chain() { PATH="$work/bin:$PATH" "$source/jobs/chain.sh" --segments 2 "$@" chained.json >log 2>&1; }
for times in '3' '00:03:00' '3:00' '0-0:3 --stop-before-end 3m' '1-1:00:00 --stop-before-end 1d1h' '2-0 --stop-before-end 172800.5'; do
  # shellcheck disable=SC2086
  if chain --time=$times; then fail "a chain of segments without time: $times"; fi
  says log 'no segment would come to a step'
done
if chain --stop-before-end 4h; then fail "a chain of segments without time, by the limit of train.sbatch"; fi
if SBATCH_TIMELIMIT=3 chain; then fail "a chain of segments without time, by SBATCH_TIMELIMIT"; fi
SBATCH_TIMELIMIT=3 chain --time=4 || fail "an option does not overrule the variable: $(cat log)"
for stop in 3x 180,5 m 3m2; do
  if chain --stop-before-end "$stop"; then fail "a chain is submitted that stops before its end by $stop"; fi
  says log 'is no duration'
done
# What a site has sbatch say is no job.
rm submitted
BANNER='Welcome' NUMBER='7;cluster' chain || fail "a chain beside a banner: $(cat log)"
says submitted '--dependency=afterany:7 --kill'
[[ $(grep -cx 7 log) -eq 2 ]] || fail "the jobs of a chain: $(cat log)"
if NUMBER='' chain; then fail "a chain goes on behind a job without a number"; fi
says log 'where the number of a job should be'
for times in '4' '00:03:01' '3:01' '0-0:4 --stop-before-end 3m59s' '1-1:00:01 --stop-before-end 1d1h' UNLIMITED 0; do
  # shellcheck disable=SC2086
  chain --time=$times || fail "a chain is refused: $times: $(cat log)"
  [[ $(grep -cx 7 log) -eq 2 ]] || fail "the jobs of a chain: $(cat log)"
done
echo passed
