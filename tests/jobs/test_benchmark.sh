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
echo "{\"command\": \"$command\"}"
STUB
printf '#!/bin/sh\necho "a table of $3"\n' >programs/summarize
cat >bin/srun <<'STUB'
#!/usr/bin/env bash
if [[ $1 == --mpi=list ]]; then echo pmi2; exit; fi
while [[ $1 == --* ]]; do
  case $1 in --ntasks=* | --nodes=*) echo -n "${1#--} " >>calls ;; esac
  shift
done
echo "${5##*/} ${*:6}" >>calls  # behind bash -c TEXT rank
exec "$@"
STUB
printf '#!/bin/sh\nexit 1\n' >bin/squeue
printf '#!/bin/sh\necho "MpiDefault = none"; echo asked >>asked\n' >bin/scontrol
printf '#!/bin/sh\nseq ${CORES:-3}\n' >bin/lscpu
cp bin/squeue bin/triax
chmod +x bin/* programs/*
for program in bench_matmul bench_attention bench_elementwise bench_checksum bench_block_file bench_generate bench_collectives bench_model_state bench_checkpoint; do
  cp programs/step "programs/$program"
done

# benchmark EXPECTED_STATUS ARGUMENT...: a job of 6 ranks on 2 nodes; its log goes to log.
benchmark() {
  local expected=$1 status=0
  shift
  rm -f calls asked
  PATH="$work/bin:$PATH" TRIAX="$work/bin/triax" BENCHMARKS=${BENCHMARKS:-"$work/programs"} SLURM_JOB_ID=7 SLURM_NTASKS=6 \
    SLURM_JOB_NUM_NODES=2 SLURM_JOB_NODELIST=a,b bash "$source/jobs/benchmark.sbatch" "$@" >log 2>&1 || status=$?
  [[ $status -eq $expected ]] || fail "status $status of: benchmark.sbatch $*: $(cat log)"
  [[ -z $(find . -name 'triax-benchmark-7*') ]] || fail "files are left behind"
}
says() { grep -qF -- "$2" "$1" || fail "$1 does not say: $2. It says: $(cat "$1")"; }

benchmark 0 all.jsonl
[[ $(wc -l <asked) -eq 1 ]] || fail "Slurm is asked at each launch"
[[ $(wc -l <all.jsonl) -eq $(wc -l <calls) ]] || fail "a line of each program"
says all.md 'a table of all.jsonl'
says calls 'ntasks=1 nodes=1 bench_matmul --threads 1'
says calls 'ntasks=1 nodes=1 bench_generate --directory'
says calls 'ntasks=6 nodes=2 bench_collectives'
[[ $(sed -n 's/^ntasks=\([0-9]*\) nodes=\([0-9]*\) step.* --batch \([0-9]*\) .*strong/\1 on \2: \3/p' calls | paste -sd,) == \
  '1 on 1: 12,2 on 1: 12,6 on 2: 12' ]] || fail "strong scaling: $(cat calls)"
[[ $(sed -n 's/^ntasks=\([0-9]*\) nodes=\([0-9]*\) step.* --batch \([0-9]*\) .*weak/\1 on \2: \3/p' calls | paste -sd,) == \
  '1 on 1: 2,2 on 1: 4,4 on 2: 8,6 on 2: 12' ]] || fail "weak scaling: $(cat calls)"

if grep -q WARNING log; then fail "a warning where all cores are used"; fi
CORES=32 benchmark 0 idle.jsonl bench_matmul
says log 'WARNING: 3 of 32 cores of a node are used'

# One that fails does not stop the others, and the job says so; one that does not fit is left out.
lines=$(wc -l <all.jsonl)
DOES_NOT_FIT=llama-1b benchmark 0 small.jsonl
[[ $(wc -l <small.jsonl) -eq $((lines - 1)) ]] || fail "all but the model that does not fit"
FAILS=bench_attention benchmark 1 part.jsonl
[[ $(wc -l <part.jsonl) -eq $((lines - 1)) ]] || fail "all but the program that failed"
says log 'bench_attention --threads 1 failed (status 3)'
SILENT=bench_checksum benchmark 1 silent.jsonl
says log 'bench_checksum printed no line of JSON'

# Commands of the user's own, behind each other in one file.
benchmark 0 own.jsonl "step --data 6 --batch 12" bench_matmul
benchmark 0 own.jsonl step
[[ $(wc -l <own.jsonl) -eq 3 ]] || fail "lines of two jobs: $(cat own.jsonl)"
says calls 'ntasks=6 nodes=2 step --data 6 --batch 12 --threads 1'

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
