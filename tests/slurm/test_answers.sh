#!/usr/bin/env bash
# Runs jobs/serve.sbatch and jobs/batch.sbatch on a Slurm cluster of its own, on two nodes of two ranks. A server that is
# signalled before its time limit, and one that loses a rank, come back with the same answers. A batch that is signalled
# goes on with the answers of one that nothing happened to. `triax doctor` under srun compares the ranks.
# Usage: test_answers.sh SOURCE TRIAX. Status 77: skipped, with the reason printed.
set -euo pipefail
source=$1
export TRIAX=$2
command -v curl >/dev/null || { echo "skipped: curl is not installed"; exit 77; }
. "$source/tests/slurm/functions.sh"

cat >base.json <<'JOB'
{"model": {"architecture": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 64, "vocab_size": 256},
 "data": {"train": ["text"], "seq_length": 64}, "run": {"steps": 3, "directory": "base", "progress": "none"},
 "train_batch_size": 4, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}}
JOB
"$TRIAX" train base.json >base.out 2>&1 || fail "the run before: $(cat base.out)"
model=$work/base/checkpoints/step-000003.h5
two_nodes=(--nodes=2 --ntasks-per-node=2)

echo "== doctor compares the ranks that srun starts"
timeout 90 srun --mpi=pmi2 "${two_nodes[@]}" "$TRIAX" doctor "$work" >doctor.out 2>&1 || fail "doctor: $(cat doctor.out)"
says doctor.out "^ranks  *4 on "
timeout 90 srun --mpi=pmi2 "${two_nodes[@]}" "$TRIAX" doctor "$work" --json >doctor.json 2>doctor.out || fail "doctor --json: $(cat doctor.out)"
[[ $(grep -c '"rank": ' doctor.json) -eq 4 ]] || fail "doctor --json has not four ranks"

# The text of a first choice in each line, as JSON spells it: identifiers and times of replies are their own.
texts() { sed 's/.*"text":"\(\([^"\\]\|\\.\)*\)".*/\1/'; }
# The text that the server gives to a greedy request, in file $1; fails while there is none.
endpoint() { sed -n "s/^ *\"$1\": \"\(.*\)\",*$/\1/p" serve/endpoint.json 2>/dev/null; }
answers() {
  curl --silent --fail --max-time 20 -H "Authorization: Bearer $(endpoint api_key)" -H 'Content-Type: application/json' \
    -d '{"prompt": "line 7 ", "max_tokens": 24, "temperature": 0, "ignore_eos": true}' "$(endpoint url)/completions" \
    >reply 2>/dev/null && texts <reply >"$1"
}

echo "== a server is signalled before its time limit, loses a rank, and is cancelled"
served=$(submit "${two_nodes[@]}" --cpus-per-task=1 --output=serve.out "$source/jobs/serve.sbatch" "$model" --port 0 \
  --set run.directory="$work/serve" --set parallel.tensor=2)
wait_until 40 "the first answer" answers first
curl --silent --output /dev/null --write-out '%{http_code}' "$(endpoint url)/models" >refused
[[ $(cat refused) == 401 ]] || fail "a server of a job answers without its key: $(cat refused)"
[[ $(stat -c %a serve/endpoint.json) == 600 ]] || fail "others can read the key"
timeout 90 scancel --batch --signal=USR1 "$served"
wait_until 40 "the server to be requeued" in_state "$served" PENDING
[[ ! -e serve/endpoint.json ]] || fail "endpoint.json is there without a server"
run_again "$served"
wait_until 60 "an answer after the restart" answers second
cmp first second || fail "the server answers otherwise after a restart"
kill -KILL "$(pgrep -f "^$(literally "$TRIAX serve")" | sed -n 4p)"
wait_until 40 "the server to be requeued after the loss of a rank" in_state "$served" PENDING
says serve.out "job $served failed with status"
wait_until 10 "the other ranks to end" no_process "^$(literally "$TRIAX serve")"
run_again "$served"
wait_until 60 "an answer after the loss" answers third
cmp first third || fail "the server answers otherwise after the loss of a rank"
timeout 90 scancel "$served"
wait_until 40 "the server to end" no_process "^$(literally "$TRIAX serve")"

echo "== a batch is signalled, goes on, and ends"
for i in $(seq 4000); do echo "{\"custom_id\": \"q$i\", \"prompt\": \"line $i \", \"max_tokens\": 48, \"ignore_eos\": true}"; done >in.jsonl
"$TRIAX" batch in.jsonl --model "$model" --out whole >whole.out 2>&1 || fail "the batch that nothing happens to: $(cat whole.out)"
done_lines() { [[ $(cat answers/answers-*.jsonl 2>/dev/null | wc -l) -ge $1 ]]; }
batch=$(submit "${two_nodes[@]}" --cpus-per-task=1 --output=batch.out "$source/jobs/batch.sbatch" "$work/in.jsonl" \
  --model "$model" --out "$work/answers")
wait_until 40 "first answers" done_lines 20
timeout 90 scancel --batch --signal=USR1 "$batch"
wait_until 60 "the batch to be requeued" in_state "$batch" PENDING
if done_lines 4000; then fail "the batch was done before its signal"; fi
says batch.out "job $batch was stopped, to be run again"
run_again "$batch"
wait_until 90 "the batch" in_state "$batch" COMPLETED
answers_of() { paste -d' ' <(grep -ho '"custom_id":"[^"]*"' "$1"/answers-*.jsonl) <(cat "$1"/answers-*.jsonl | texts) | sort; }
[[ $(answers_of answers | wc -l) -eq 4000 ]] || fail "the batch has $(answers_of answers | wc -l) answers"
cmp <(answers_of whole) <(answers_of answers) || fail "the batch has other answers than one that nothing happened to"
echo "passed in $SECONDS s"
