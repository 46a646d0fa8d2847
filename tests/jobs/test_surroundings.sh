#!/usr/bin/env bash
# Usage: test_surroundings.sh SOURCE
# What the job scripts make of what they find around them: where they stand, the site's settings, the variables of the job that
# submitted theirs, GPUs, signals, the list of a sweep. Slurm and triax are stubs (job_stubs.sh).
set -euo pipefail
source=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
. "$(dirname "${BASH_SOURCE[0]}")/job_stubs.sh"

# All scripts look for their folder alike.
head_of() { sed -n '/^set -euo/,/^# shellcheck source/p' "$source/jobs/$1.sbatch"; }
for script in array-sweep benchmark finetune inspect; do
  [[ $(head_of "$script") == "$(head_of train)" ]] || fail "$script.sbatch does not begin as train.sbatch does"
done

# A copy, as Slurm makes one of what was submitted: the original's folder is found, by its name, by a link, by a variable.
mkdir spool mine "other place"
cp "$source/jobs/train.sbatch" spool/slurm_script
cp "$source/jobs/train.sbatch" mine/copy.sh
ln -s "$source/jobs/train.sbatch" mine/linked.sbatch
cp "$source"/jobs/*.sh "other place"
cp "$source/jobs/train.sbatch" "other place/train.slurm"
COMMAND=$source/jobs/train.sbatch job 0 spool/slurm_script
COMMAND=$work/mine/linked.sbatch job 0 spool/slurm_script
COMMAND="$work/other place/train.slurm conf/a.json" job 0 spool/slurm_script
job 0 mine/linked.sbatch
TRIAX_JOBS=$source/jobs COMMAND=$work/mine/copy.sh job 0 spool/slurm_script
COMMAND=$work/mine/copy.sh job 2 spool/slurm_script
says log 'set TRIAX_JOBS='
# A controller that does not answer at once, or not at all, which is no mistake of the job.
DOWN=2 COMMAND=$source/jobs/train.sbatch job 0 spool/slurm_script
DOWN=3 COMMAND=$source/jobs/train.sbatch job 3 spool/slurm_script
says log 'Slurm does not answer where the script of job 7 stands'

# The site's settings come before the program is looked for, from a file that may use any name.
# shellcheck disable=SC2016
printf '%s\n' 'PATH=$PWD/modules:$PATH' false 'unset_before="$never_set"' 'declare -x FROM_SITE=yes' 'for job in 1 2; do :; done' \
  'jobs=none name=none early=yes' 'echo "arguments: $*."' >env.sh
mkdir modules
printf '#!/bin/sh\necho from the module\nenv >environment\nexit 0\n' >modules/triax
printf 'echo not this file\n' >bin/env.sh
chmod +x modules/triax bin/env.sh
mkdir -p prefix/share/triax
cp -r "$source/jobs" prefix/share/triax/jobs
PROGRAM='' TRIAX_ENV=env.sh job 0 prefix/share/triax/jobs/train.sbatch
says log 'from the module'
says log 'train.sbatch: job 7,'
says log 'arguments: .'
says environment FROM_SITE=yes
TRIAX_ENV=$work/absent.sh job 2
says log 'cannot read TRIAX_ENV'

# Installed, it takes the program beside it, however its folder is named; a checkout in such a folder takes its own.
program() { mkdir -p "${1%/*}"; printf '#!/bin/sh\necho "%s"\n' "$2" >"$1"; chmod +x "$1"; }
program prefix/bin/triax 'as installed'
for jobs in "$work/prefix/share/triax/jobs/" prefix/share/triax/jobs; do
  PROGRAM='' TRIAX_JOBS=$jobs job 0 spool/slurm_script
  says log 'as installed'
done
program prefix/share/triax/build/src/triax 'as built'
PROGRAM='' job 0 prefix/share/triax/jobs/train.sbatch
says log 'as built'

# A job that a task of an array has submitted is no task of it.
export SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=1
LISTED='7 7_N/A' STEP=1 job 75; comes_back
[[ $(<requeued) == 7 ]] || fail "another job is requeued: $(<requeued)"
if grep -q SLURM_ARRAY environment; then fail "the ranks believe to be of an array"; fi
for listed in '7 5_1' ''; do
  LISTED=$listed STEP=1 job 75; comes_back
  [[ $(<requeued) == 5_1 ]] || fail "not the index of the array is requeued: $(<requeued)"
done
unset SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID
SLURM_RESTART_COUNT=9 job 0
says log 'job 7, restart 2,'
says environment SLURM_RESTART_COUNT=2

# Variables that srun and squeue would obey, though they are not of this job.
SLURM_MEM_PER_CPU=1 SLURM_MEM_PER_NODE=2 SLURM_CPU_BIND=quiet SLURM_CPU_BIND_TYPE=mask_cpu: SLURM_TRES_PER_TASK=cpu:8 \
  SLURM_CPUS_PER_TASK=16 job 0
if grep -E 'SLURM_(MEM|CPU_BIND|TRES)' environment; then fail "srun obeys another job's variables"; fi
SLURM_MEM_PER_CPU=1 SLURM_CPU_BIND=cores SLURM_TRES_PER_TASK=cpu:16 SLURM_CPUS_PER_TASK=16 job 0
[[ $(grep -cE 'SLURM_(MEM|CPU_BIND|TRES)' environment) -eq 3 ]] || fail "srun does not obey this job's variables"
SQUEUE_STATES=PD SLURM_TIME_FORMAT=%s END=2026-11-26T12:00:00 SLURM_JOB_END_TIME=1 job 0
says environment "SLURM_JOB_END_TIME=$(date --date=2026-11-26T12:00:00 +%s)"
SLURM_JOB_END_TIME=123 job 0
says environment SLURM_JOB_END_TIME=123
SQUEUE_STATES=PD STEP=1 STATE=COMPLETING job 75; ends

# GPUs need a program with code for them.
cp -r prefix/share/triax checkout
cp bin/triax checkout/build/src/triax
gpus='node=1,gres/gpu=8'
SLURM_GPUS_ON_NODE=8 TRES=$gpus job 0
says log 'has no GPU code: the ranks compute on processors'
SLURM_GPUS_ON_NODE=8 TRES=$gpus CODE='GPU code for sm_90' job 0
if grep -q 'GPU code' log; then fail "a program with GPU code is spoken of: $(cat log)"; fi
PROGRAM='' SLURM_GPUS_ON_NODE=8 TRES=$gpus job 2 checkout/jobs/train.sbatch
says log 'cmake --preset cuda'
PROGRAM='' SLURM_GPUS_ON_NODE=8 job 0 checkout/jobs/train.sbatch  # the variable of another job
program checkout/build-cuda/src/triax 'with GPU code'
PROGRAM='' SLURM_GPUS_ON_NODE=8 TRES=$gpus job 0 checkout/jobs/train.sbatch
says log 'with GPU code'

# What cannot be run at all.
SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=7 job 2
says log 'heterogeneous'
SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=6 job 0
SLURM_JOB_ID=7 bash "$source/jobs/train.sbatch" job.json >log 2>&1 && fail "an allocation without ranks"
says log 'Ask for them: --ntasks-per-node=N'

# Signals to the script: those to stop are passed on, or remembered; one for a checkpoint ends nothing.
cat >waiting <<'STUB'
#!/usr/bin/env bash
[[ $1 == train ]] || exec "${0%/*}/bin/triax" "$@"
trap 'echo checkpoint >>signals' USR2
trap 'echo stop >>signals; date +%N >>run/metrics.jsonl; exit 75' USR1
kill -USR2 "$(<script)"
until grep -qs checkpoint signals; do /bin/sleep 0.05; done
kill -USR1 "$(<script)"
while true; do /bin/sleep 0.05; done
STUB
cat >signalled.sbatch <<'SCRIPT'
echo $$ >script
. "$TRIAX_JOBS/train.sbatch"
SCRIPT
chmod +x waiting
TRIAX_JOBS=$source/jobs PROGRAM=$work/waiting job 75 signalled.sbatch; comes_back
[[ $(paste -sd, signals) == checkpoint,stop ]] || fail "signals of the ranks: $(cat signals)"
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$1" != config ] || kill -USR1 "$(cat script)"\nexec ./bin/triax "$@"\n' >waiting
TRIAX_JOBS=$source/jobs PROGRAM=$work/waiting EXPECTED=75 job 0 signalled.sbatch; comes_back
says log 'signalled before the ranks were started'
rm -f submit/.triax-7.failures

# Each index of a sweep has its own checkpoints, whatever the job file says.
printf 'optimizer.params.lr=1 run.seed=2\nrun.directory=there run.seed=3\n' >list
sweep() { SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$1 LISTED="7 7_$1" job 0 "$source/jobs/array-sweep.sbatch" list; }
sweep 0
says ran '--set run.directory=list.runs/0 --set checkpoint.directory=list.runs/0/checkpoints --set optimizer.params.lr=1'
sweep 1
says ran '--set checkpoint.directory=there/checkpoints --set run.directory=there'
echo passed
