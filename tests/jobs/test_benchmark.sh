#!/usr/bin/env bash
# Usage: test_benchmark.sh SOURCE
# What jobs/benchmark.sbatch runs, where, and what it makes of failures: programs, srun and squeue are stubs.
set -euo pipefail
source=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"

mkdir programs bin
# Each prints a line that holds its arguments; what a variable says fails, or prints nothing.
cat >programs/step <<'STUB'
#!/usr/bin/env bash
command="${0##*/} $*"
echo "about $command"
[[ -z ${DOES_NOT_FIT:-} || $command != *"$DOES_NOT_FIT"* ]] || exit 2
[[ -z ${FAILS:-} || $command != *"$FAILS"* ]] || exit 3
[[ -z ${SILENT:-} || $command != *"$SILENT"* ]] || exit 0
[[ -z ${BEFORE_ALONE:-} || $command != *"$BEFORE_ALONE"* ]] || { printf '%s\n' '{"benchmark":"machine"}' '{"benchmark":"limits"}'; exit 0; }
printf '%s{"command": "%s"}%b' "${LABEL:-}" "$command" "${LAST-\n}"
STUB
printf '#!/bin/sh\necho "a table of $3"\ncp "$3" summarized\n' >programs/summarize
cat >bin/srun <<'STUB'
#!/usr/bin/env bash
if [[ $1 == --mpi=list ]]; then echo pmi2; exit; fi
while [[ $1 == --* ]]; do
  case $1 in --ntasks=* | --nodes=* | --cpus-per-task=*) echo -n "${1#--} " >>calls ;; esac
  shift
done
echo "${5##*/} ${*:6}" >>calls  # behind bash -c TEXT rank
exec "$@"
STUB
printf '#!/bin/sh\nexit 1\n' >bin/squeue
printf '#!/bin/sh\necho "MpiDefault = none"; echo asked >>asked\n' >bin/scontrol
# A core and a socket for each hardware thread.
printf '#!/bin/sh\necho "# Core,Socket"\nfor thread in $(seq ${SMT:-1}); do seq -f %%g,0 ${CORES:-3}; done\n' >bin/lscpu
printf '#!/bin/sh\necho Type\ncase $2 in *shm*) echo tmpfs ;; *node*) echo xfs ;; *) echo nfs ;; esac\n' >bin/df
cat >bin/mpiexec <<'STUB'
#!/usr/bin/env bash
if [[ $1 == --version ]]; then echo "${LIBRARY:-HYDRA build details:}"; exit; fi
echo "mpiexec $*" >>calls
while [[ $1 == -* ]]; do shift 2; done
exec "$@"
STUB
cp bin/squeue bin/triax
chmod +x bin/* programs/*
for program in bench_limits bench_matmul bench_attention bench_elementwise bench_checksum bench_block_file bench_generate bench_collectives bench_model_state bench_checkpoint; do
  cp programs/step "programs/$program"
done

# benchmark EXPECTED_STATUS ARGUMENT...: a job of 6 ranks on 2 nodes; its log goes to log.
benchmark() {
  local expected=$1 status=0
  shift
  rm -f calls asked summarized
  PATH="$work/bin:$PATH" NVME=${NVME-} SLURM_TMPDIR=${NODE-} TMPDIR='' TRIAX="$work/bin/triax" BENCHMARKS=${BENCHMARKS:-"$work/programs"} SLURM_JOB_ID=7 SLURM_NTASKS=${RANKS_OF_ALL:-6} \
    SLURM_JOB_NUM_NODES=${NODES:-2} SLURM_JOB_NODELIST=a,b bash -c 'echo $$ >job; exec bash "$@"' - \
    "$source/jobs/benchmark.sbatch" "$@" >log 2>&1 || status=$?
  [[ $status -ne 137 ]] || rm -rf triax-benchmark-7*
  [[ $status -eq $expected ]] || fail "status $status of: benchmark.sbatch $*: $(cat log)"
  [[ -z $(find . -name 'triax-benchmark-7*' -o -name '*.new') ]] || fail "files are left behind"
}
says() { grep -qF -- "$2" "$1" || fail "$1 does not say: $2. It says: $(cat "$1")"; }

benchmark 0 all.jsonl
[[ $(wc -l <asked) -eq 1 ]] || fail "Slurm is asked at each launch"
[[ $(wc -l <all.jsonl) -eq $(wc -l <calls) ]] || fail "a line of each program"
says all.md 'a table of all.jsonl'
says calls 'ntasks=1 nodes=1 bench_matmul --threads 1'
says calls 'ntasks=1 nodes=1 bench_generate --directory'
says calls 'ntasks=6 nodes=2 bench_collectives'
# What takes longest comes last, and shorter.
[[ $(sed -n 's/^ntasks=\([0-9]*\) nodes=\([0-9]*\) step.* --batch \([0-9]*\) .*strong/\1 on \2: \3/p' calls | paste -sd,) == \
  '6 on 2: 12,2 on 1: 12 --steps 3,1 on 1: 12 --steps 3' ]] || fail "strong scaling: $(cat calls)"
[[ $(sed -n 's/^ntasks=\([0-9]*\) nodes=\([0-9]*\) step.* --batch \([0-9]*\) .*weak/\1 on \2: \3/p' calls | paste -sd,) == \
  '6 on 2: 12,4 on 2: 8,2 on 1: 4,1 on 1: 2' ]] || fail "weak scaling: $(cat calls)"
[[ $(tail -n 1 calls) == *'--data 1 '*' --series strong --steps 3' ]] || fail "the longest is not the last: $(cat calls)"
# Cut in other ways: by tensor on one node, which three ranks a node are not for all.
says calls 'ntasks=2 nodes=1 step --pipeline 2 --batch 4 --micro 1 --threads 1'
if grep -q -e '--tensor 2' calls; then fail "tensor ranks on two nodes: $(cat calls)"; fi
RANKS_OF_ALL=8 CORES=4 benchmark 0 cuts.jsonl
says calls 'ntasks=2 nodes=1 step --tensor 2 --batch 4 --threads 1'
says calls 'ntasks=8 nodes=2 step --tensor 2 --data 4 --zero 1 --batch 16 --threads 1'
says calls 'ntasks=1 nodes=1 cpus-per-task=4 bench_matmul --threads 4'
# A node of which one rank uses all is measured once.
RANKS_OF_ALL=1 NODES=1 CORES=1 benchmark 0 one.jsonl
[[ $(grep -c bench_matmul calls) -eq 1 ]] || fail "products on one core twice: $(cat calls)"
if grep -q -e '--tensor 2' -e '--pipeline 2' calls; then fail "one rank is cut: $(cat calls)"; fi

if grep -q WARNING log; then fail "a warning where all cores are used"; fi
CORES=32 benchmark 0 idle.jsonl bench_matmul
says log 'WARNING: 3 of 32 cores of a node are used'
# Where a core has two hardware threads Slurm counts those, and cores where it is told to.
SMT=2 CORES=12 SLURM_CPUS_PER_TASK=8 benchmark 0 threads.jsonl bench_matmul
says calls 'cpus-per-task=8 bench_matmul --threads 4'
if grep -q WARNING log; then fail "a warning where all cores are used: $(cat log)"; fi
SMT=2 CORES=12 SLURM_CPUS_PER_TASK=4 SLURM_HINT=nomultithread benchmark 0 threads.jsonl bench_matmul
says calls 'cpus-per-task=4 bench_matmul --threads 4'
if grep -q WARNING log; then fail "a warning where all cores are used: $(cat log)"; fi
SMT=2 CORES=12 SLURM_CPUS_PER_TASK=4 benchmark 0 threads.jsonl bench_matmul
says log 'WARNING: 6 of 12 cores of a node are used'

# One that fails does not stop the others, and the job says so; one that does not fit is left out.
lines=$(wc -l <all.jsonl)
DOES_NOT_FIT=llama-1b benchmark 0 small.jsonl
[[ $(wc -l <small.jsonl) -eq $((lines - 1)) ]] || fail "all but the model that does not fit"
says small.md '## Not measured'
says small.md '| `step --model llama-1b --type bf16 --zero 1 --data 6 --batch 12 --threads 1` | 6 | does not fit, or is refused (status 2): see the log |'
if grep -q 'Not measured' all.md; then fail "something was not measured: $(cat all.md)"; fi
DOES_NOT_FIT='step --model gpt2-124m --type bf16' benchmark 1 refused.jsonl  # fits everywhere: the command is wrong
FAILS=bench_attention benchmark 1 part.jsonl
[[ $(wc -l <part.jsonl) -eq $((lines - 1)) ]] || fail "all but the program that failed"
says log 'bench_attention --threads 1: failed (status 3)'
says part.md '| `bench_attention --threads 1` | 1 | failed (status 3) |'
SILENT=bench_checksum benchmark 1 silent.jsonl
says log 'bench_checksum: printed no line of JSON'
says silent.md '| `bench_checksum` | 1 | printed no line of JSON |'
BEFORE_ALONE=bench_checksum benchmark 1 silent.jsonl bench_checksum
says silent.md '| `bench_checksum` | 1 | printed no line of JSON |'
BEFORE_ALONE=bench_limits benchmark 0 limits.jsonl bench_limits
says calls 'ntasks=6 nodes=2 bench_limits --threads 1'

# A job that is ended amid its work has a table of what it did.
printf '#!/bin/sh\nkill -KILL "$(cat job)"\n' >programs/bench_last
chmod +x programs/bench_last
benchmark 137 ended.jsonl bench_matmul bench_last bench_checksum
says ended.md 'a table of ended.jsonl'
says ended.md 'Not at its end: job 7 had not yet done what follows `bench_matmul --threads 1`.'
if grep -q 'Not at its end' all.md; then fail "a job that is done is said not to be: $(cat all.md)"; fi

# Lines that were cut off keep the next ones whole, and a rank's number before a line is not part of it.
printf '{"half' >cut.jsonl
LAST='' benchmark 0 cut.jsonl bench_matmul bench_checksum
printf '%s\n' '{"half' '{"command": "bench_matmul --threads 1"}' '{"command": "bench_checksum "}' | cmp - cut.jsonl || fail "lines: $(cat cut.jsonl)"
for label in '0: ' ' 3: ' '[12] '; do
  rm -f labelled.jsonl
  LABEL=$label benchmark 0 labelled.jsonl bench_matmul
  [[ $(<labelled.jsonl) == '{"command": "bench_matmul --threads 1"}' ]] || fail "a line with a label: $(cat labelled.jsonl)"
done

# Open MPI is kept from binding all threads of a rank to one core.
for library in 'mpiexec (OpenRTE) 4.1.4' 'mpiexec (Open MPI) 5.0.3'; do
  LAUNCHER=mpiexec LIBRARY=$library benchmark 0 launched.jsonl bench_matmul
  says calls 'mpiexec -n 1 --bind-to none bash'
done
LAUNCHER=mpiexec benchmark 0 launched.jsonl bench_matmul
says calls 'mpiexec -n 1 bash'

# Blocks are those of a disk of the node, where there is one.
mkdir node shm
NVME=$work/node benchmark 0 blocks.jsonl
says calls "bench_block_file $work/node/triax-benchmark-7"
says calls "bench_checkpoint $work/triax-benchmark-7"
says blocks.md "blocks (bench_block_file) in $work/node, xfs; checkpoints in $work, nfs."
NODE=$work/node benchmark 0 blocks.jsonl
says calls "bench_block_file $work/node/triax-benchmark-7"
NODE=$work/shm benchmark 0 blocks.jsonl  # memory is no disk
says calls "bench_block_file $work/triax-benchmark-7"
says log 'set NVME=DIR'
NVME=$work/nowhere benchmark 2 blocks.jsonl
says log "NVME=$work/nowhere is no directory"

# Commands of the user's own, behind each other in one file.
benchmark 0 own.jsonl "step --data 6 --batch 12" bench_matmul
benchmark 0 own.jsonl step
[[ $(wc -l <own.jsonl) -eq 3 ]] || fail "lines of two jobs: $(cat own.jsonl)"
says calls 'ntasks=6 nodes=2 step --data 6 --batch 12 --threads 1'
benchmark 0 own.jsonl "step --data 6 --threads 2" "bench_generate --tokens 8" "bench_checkpoint ."
says calls 'step --data 6 --threads 2'
says calls 'bench_generate --tokens 8 --threads 1'
if grep -q -e '--threads 2 --threads' -e 'bench_checkpoint.*threads' calls; then fail "threads of commands: $(cat calls)"; fi

benchmark 2 nowhere/out.jsonl
says log 'nowhere/out.jsonl cannot be written'
[[ ! -e calls ]] || fail "something ran whose lines have no place"
if [[ -w /dev/full ]]; then
  benchmark 1 /dev/full bench_matmul
  says log '/dev/full cannot be written'
fi
SCRATCH=nowhere benchmark 2 out.jsonl
says log 'Set SCRATCH'
benchmark 2 out.jsonl bench_nothing
says log 'has no program bench_nothing'
rm programs/summarize
benchmark 2 out.jsonl
says log 'has no program summarize'
echo passed
