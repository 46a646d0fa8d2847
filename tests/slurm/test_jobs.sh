#!/usr/bin/env bash
# Runs jobs/*.sbatch and jobs/chain.sh on a Slurm cluster of its own (cluster.sh). A training job on 2 nodes x 4 ranks
# survives a signal and the loss of a rank with the numbers of an undisturbed run; so does a job started by mpiexec. A
# sweep, a chain and an inspection complete; srun without PMI is refused.
# Usage: test_jobs.sh SOURCE TRIAX. Status 77: skipped, with the reason printed.
set -euo pipefail
source=$1
export TRIAX=$2
. "$source/tests/slurm/functions.sh"

has_steps() { [[ $(grep -c '"loss"' "$1/metrics.jsonl" 2>/dev/null) -ge $2 ]]; }
set_steps() { sed -i "s/\"steps\": [0-9]*/\"steps\": $2/" "$1.json"; }
no_rank_of() { no_process "train $(literally "$work/$1.json")"; }
# Step, loss and gradient norm of every step.
numbers() { sed -n 's/^{"step":\([0-9]*\),"loss":\([^,]*\),"grad_norm":\([^,]*\),.*/\1 \2 \3/p' "$1/metrics.jsonl"; }
last_step() { numbers "$1" | awk 'END { print $1 + 0 }'; }

same_numbers() {  # run: its steps have the numbers of the whole run, each once
  numbers whole | head -n "$(numbers "$1" | wc -l)" | cmp - <(numbers "$1") ||
    fail "the numbers of $1 are not those of a run that nothing happened to"
}

job() {  # name steps [tensor-and-pipeline [resume]]: writes a job file that trains in a folder of the same name
  cat >"$work/$1.json" <<JOB
{"model": {"architecture": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 16, "vocab_size": 256},
 "data": {"train": ["text"], "seq_length": 16},
 "parallel": {"tensor": ${3:-2}, "pipeline": ${3:-2}, "data": "auto"},
 "run": {"steps": $2, "directory": "$1", "progress": "none"},
 "checkpoint": {"interval": 10, "keep": 2, "resume": "${4:-auto}"},
 "train_batch_size": 4, "gradient_accumulation_steps": 2, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}}
JOB
}

train=$source/jobs/train.sbatch

# Runs with checkpoint.resume set still continue from their own checkpoints when requeued.
job base 3 1
"$TRIAX" train base.json >base.out 2>&1 || fail "the run before: $(cat base.out)"
base=$work/base/checkpoints/step-000003.h5

echo "== a job is signalled, and requeued by its status"
job signalled 1000000 2 "$base"
signalled=$(submit --output=signalled.out "$train" "$work/signalled.json")
wait_until 30 "steps of the job" has_steps signalled 12
timeout 90 scancel --signal=USR1 "$signalled"
wait_until 30 "the job to be requeued" in_state "$signalled" PENDING
says signalled.out "stopped by SIGUSR1 after"
first=$(last_step signalled)
[[ -f $(printf 'signalled/checkpoints/step-%06d.h5' $((first + 1))) ]] || fail "no checkpoint after step $first"
set_steps signalled $((first + 15))

echo "== a job that is not to be requeued ends, whatever slurm.conf says of its status"
job ended 1000000 1
ended=$(submit --no-requeue --nodes=1 --ntasks-per-node=2 --output=ended.out "$train" "$work/ended.json")
wait_until 30 "steps of the job" has_steps ended 2
timeout 90 scancel --batch --signal=USR2 "$ended"
wait_until 30 "a checkpoint" compgen -G "ended/checkpoints/step-*.h5" >/dev/null
timeout 90 scancel --batch --signal=USR1 "$ended"
wait_until 30 "the job to end" in_state "$ended" COMPLETED
says ended.out "was submitted with --no-requeue"

echo "== a rank is killed, and the job, which a task of an array has submitted, requeued by scontrol"
sed -i /^RequeueExit/d "$SLURM_CONF"
timeout 90 scontrol reconfigure
job killed 1000000 2 "$base"
killed=$(SLURM_ARRAY_JOB_ID=$ended SLURM_ARRAY_TASK_ID=0 submit --output=killed.out "$train" "$work/killed.json")
wait_until 30 "steps of the job" has_steps killed 22
kill -KILL "$(pgrep -f "^$(literally "$TRIAX train $work/killed.json")" | sed -n 4p)"
wait_until 20 "the other ranks to end" no_rank_of killed
wait_until 30 "the job to be requeued" in_state "$killed" PENDING
says killed.out "job $killed failed with status"
set_steps killed $(($(last_step killed) + 15))

echo "== meanwhile: a sweep, a chain, a job without PMI, one that is cancelled"
job sweep 5 1
printf '# two rates\noptimizer.params.lr=1e-3\n\noptimizer.params.lr=1e-2 run.steps=6\n' >list
sweep=$(submit --array=0-1 --ntasks-per-node=1 "$source/jobs/array-sweep.sbatch" "$work/sweep.json" list)
job chained 1000000 1 never
mapfile -t chain < <(timeout 200 "$source/jobs/chain.sh" --segments 3 --after ok --stop-before-end 285s --time=5 \
  --nodes=1 --ntasks-per-node=2 --output=chained.out "$work/chained.json")
timeout 90 scontrol hold "${chain[1]}"
wait_until 40 "the sweep" in_state "$sweep" COMPLETED
[[ $(last_step list.runs/0) -eq 4 && $(last_step list.runs/1) -eq 5 ]] || fail "the runs of the sweep"
timeout 90 srun --mpi=none --ntasks=4 "$TRIAX" train "$work/sweep.json" >refused.out 2>&1 && fail "srun without PMI is taken"
says refused.out "Start with srun --mpi=TYPE"
[[ $(grep -c "Start with" refused.out) -eq 1 ]] || fail "each of the processes says that it is alone"
job launched 1000000 1
launched=$(LAUNCHER=mpiexec submit --nodes=1 --ntasks-per-node=2 --output=launched.out "$train" "$work/launched.json")
wait_until 30 "steps of the job" has_steps launched 2
timeout 90 scancel --batch --signal=USR1 "$launched"
wait_until 30 "the job to be requeued" in_state "$launched" PENDING
says launched.out "stopped by SIGUSR1 after"
timeout 90 scancel "$launched"
job cancelled 1000000 1
cancelled=$(submit --nodes=1 --ntasks-per-node=1 --output=cancelled.out "$train" "$work/cancelled.json")
wait_until 30 "steps of the job" has_steps cancelled 2
timeout 90 scancel "$cancelled"
wait_until 30 "the first segment" in_state "${chain[0]}" COMPLETED
says chained.out "stopped by the end of the job's time"
set_steps chained $(($(last_step chained) + 15))
timeout 90 scontrol release "${chain[1]}"
wait_until 40 "the last segment" in_state "${chain[2]}" COMPLETED
numbers chained | awk '$1 != NR - 1 { exit 1 }' || fail "the chain left out or repeated a step"
says chained.out "batch job ${chain[0]} runs again"
[[ -z $(ls chained/checkpoints/*.superseded 2>/dev/null) ]] || fail "the chain set its own checkpoints aside"
says chained.out "nothing to do"
in_state "$cancelled" CANCELLED || fail "the cancelled job is $(state "$cancelled")"

echo "== plain srun, without --kill-on-bad-exit: a rank is stopped, a rank is killed"
job lost 1000000
sed -i 's/"progress"/"collective_timeout": "2s", "progress"/; s/"interval": 10/"interval": 0/' lost.json
ranks_of() { pgrep -f "^$(literally "$TRIAX train $work/$1.json")" || true; }
process_of() {  # job rank
  local process
  for process in $(ranks_of "$1"); do
    if tr '\0' '\n' <"/proc/$process/environ" | grep -qx "PMI_RANK=$2"; then echo "$process"; fi
  done
}
lose() {  # signal state-in-the-report: applied to rank 3, on the second node
  rm -rf lost
  timeout 200 srun --mpi=pmi2 --nodes=2 --ntasks-per-node=2 "$TRIAX" train "$work/lost.json" >lost.out 2>&1 &
  local launcher=$! process
  wait_until 20 "steps of the job" has_steps lost 2
  process=$(process_of lost 3)
  kill -s "$1" "$process"
  if wait "$launcher"; then fail "a job that lost a rank ended with status 0"; fi
  wait_until 5 "all its processes to end" no_rank_of lost
  # MPI may end a rank earlier, if it reads the memory of one that is gone.
  [[ $1 == KILL ]] && ! grep -q "has waited" lost.out && return
  says lost.out "The job ends with status 3"
  says lost.out "look first at: rank 3 (its process $process is $2"
  [[ $(grep -c "has waited" lost.out) -eq 1 ]] || fail "more than one report of a stall"
}
lose STOP "stopped by a signal"
lose KILL gone

echo "== the two jobs go on to their end"
resume_now "$signalled"
wait_until 60 "the signalled job" in_state "$signalled" COMPLETED
says signalled.out "restart 1,"
resume_now "$killed"
wait_until 60 "the job that lost a rank" in_state "$killed" COMPLETED
says killed.out "restart 1,"
says signalled.out "batch job $signalled runs again"
job whole $(($(last_step signalled) > $(last_step killed) ? $(last_step signalled) + 1 : $(last_step killed) + 1)) 2 "$base"
whole=$(LAUNCHER=mpiexec submit --output=whole.out "$train" "$work/whole.json")
wait_until 60 "the job that nothing happens to" in_state "$whole" COMPLETED
[[ $(last_step signalled) -eq $((first + 14)) ]] || fail "the signalled job ended after step $(last_step signalled)"
same_numbers signalled
same_numbers killed

echo "== its checkpoints are inspected"
inspect=$(submit --output=inspect.out "$source/jobs/inspect.sbatch" whole/checkpoints)
wait_until 30 "the inspection" in_state "$inspect" COMPLETED
says inspect.out transformer.wte.weight
echo "passed in $SECONDS s"
