#!/usr/bin/env bash
# Usage: test_text_to_model.sh SOURCE TRIAX MPIEXEC FLAG
# The five commands of jobs/guides/text-to-model.md, as they stand there, with a small model and few steps.
set -euo pipefail
source=$1 triax=$2 mpiexec=$3 flag=$4
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"

cp -r "$source/tests/golden/evaluate/llama" base
mkdir -p corpus jobs bin
cp -r "$source/jobs/examples" jobs/examples
ln -s "$triax" bin/triax
printf '#!/bin/sh\nshift\nexec "%s" "%s" "$@"\n' "$mpiexec" "$flag" >bin/mpiexec  # the guide's is mpiexec -n
chmod +x bin/mpiexec
export PATH=$PWD/bin:$PATH
pack=(gzip) ending=gz
if command -v zstd >/dev/null; then pack=(zstd -q) ending=zst; fi
for file in one two; do
  for i in $(seq 200); do
    printf '{"id": %d, "text": "%s: once there were %d ships, and %d of them sailed."}\n' "$i" "$file" "$i" $((i / 2))
  done | "${pack[@]}" >"corpus/$file.jsonl.$ending"
done

mapfile -t commands < <(sed -n 's/^    //p' "$source/jobs/guides/text-to-model.md")
[[ ${#commands[@]} -eq 5 ]] || fail "the guide has ${#commands[@]} commands"
small=" --set run.steps=40 --set checkpoint.interval=20 --set data.seq_length=32 --set train_batch_size=8"
small+=" --set run.eval_interval=20 --set run.eval_steps=2 --set scheduler.params.warmup=2"
small+=" --set optimizer.params.lr=3e-3 --set optimizer.params.betas=[0.9,0.95]"

# guide_command NUMBER: runs it with what the small run changes; its output goes to NUMBER.txt.
guide_command() {
  local command=${commands[$1 - 1]//step-001000/step-000040}
  [[ $1 -ne 2 ]] || command+=$small
  [[ $1 -ne 4 ]] || command+=" --max-tokens 8"
  echo "$command"
  bash -c "$command" >"$1.txt" 2>&1 || fail "command $1 of the guide: $(<"$1.txt")"
}
for number in 1 2 3 4 5; do guide_command "$number"; done

loss_of() { triax evaluate "$1" --data corpus_val.h5 --json | grep -oP '"loss": *\K[0-9.]+' | head -n 1; }
before=$(loss_of base) after=$(loss_of runs/continue/checkpoints/step-000040.h5) exported=$(loss_of model)
LC_ALL=C awk "BEGIN { exit !($after < 0.9 * $before) }" || fail "the loss fell from $before to $after only"
LC_ALL=C awk "BEGIN { exit !($exported < 1.001 * $after && $after < 1.001 * $exported) }" ||
  fail "the exported model has the loss $exported, its checkpoint $after"
grep -qa '^Once' 4.txt || fail "generated: $(<4.txt)"  # behind a line about the weights
cmp base/tokenizer.json model/tokenizer.json || fail "the exported tokenizer is another"
