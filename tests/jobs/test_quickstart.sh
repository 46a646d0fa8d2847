#!/usr/bin/env bash
# Usage: test_quickstart.sh SOURCE TRIAX MPIEXEC...
# A few steps of the quickstart's job, and what quickstart.sh makes of its output. Installs and builds nothing.
set -euo pipefail
source=$1 triax=$2
shift 2
launch=("$@")
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"

for script in setup test quickstart; do
  "$source/jobs/$script.sh" --help | grep -q "^Usage: jobs/$script.sh" || fail "$script.sh --help"
done

# In a checkout whose setup fails: a quickstart that would start ends there, one beside a running run before it.
mkdir -p checkout/runs/quickstart
cp -r "$source/jobs" checkout/jobs
printf '#!/bin/sh\necho setup ran\nexit 1\n' >checkout/jobs/setup.sh
[[ $(checkout/jobs/quickstart.sh 2>&1) == "setup ran" ]] || fail "a quickstart that nothing is in the way of"
# It works in its checkout, by whatever link it is called, and where CDPATH has another folder of the name.
mkdir -p elsewhere/checkout/jobs
ln -s "$PWD/checkout/jobs" elsewhere/jobs
[[ $(elsewhere/jobs/quickstart.sh 2>&1) == "setup ran" ]] || fail "a quickstart behind a link"
[[ $(CDPATH=$PWD/elsewhere checkout/jobs/quickstart.sh 2>&1) == "setup ran" ]] || fail "a quickstart where there is a CDPATH"
[[ ! -e elsewhere/runs && ! -e elsewhere/checkout/runs ]] || fail "a quickstart works outside of its checkout"
for lock in .quickstart .lock; do
  touch checkout/runs/quickstart/metrics.jsonl
  refusal=$(flock "checkout/runs/quickstart/$lock" checkout/jobs/quickstart.sh 2>&1) && fail "a quickstart beside a running one"
  [[ $refusal == "quickstart: a"*"Wait for it"* ]] || fail "the refusal says: $refusal"
  [[ -e checkout/runs/quickstart/metrics.jsonl ]] || fail "the running run was deleted"
done

# A text that is not a file of its own: one that is the run's, a pipe, a directory.
printf 'build_preset() { build_folder=build; }\n' >>checkout/jobs/build.sh
printf '#!/bin/sh\n' >checkout/jobs/setup.sh
sed -i 's/^  train$/  exit/' checkout/jobs/quickstart.sh
for i in $(seq 2000); do echo "line $i of a text"; done >checkout/runs/quickstart/train.txt
cp checkout/runs/quickstart/train.txt whole
checkout/jobs/quickstart.sh checkout/runs/quickstart/train.txt >said 2>&1 || fail "a text from the run's folder: $(<said)"
cat checkout/runs/quickstart/{train,valid}.txt | cmp - whole || fail "a text from the run's folder is cut"
for text in <(cat whole) checkout; do
  checkout/jobs/quickstart.sh "$text" >said 2>&1 && fail "the text $text is taken"
  grep -q 'is not a file' said || fail "the refusal says: $(<said)"
done

for _ in 1 2 3 4 5 6 7 8; do cat "$source/LICENSE"; done >text.txt
"${launch[@]}" "$triax" train "$source/jobs/examples/quickstart.json" --set data.train=text.txt --set data.valid=text.txt \
  --set run.directory=run --set run.steps=4 --set checkpoint.interval=2
[[ $(grep -c '"loss"' run/metrics.jsonl) -eq 4 ]] || fail "4 steps have 4 lines in metrics.jsonl"
grep -q '"valid_loss"' run/metrics.jsonl || fail "no validation loss in metrics.jsonl"
[[ -f run/job.json && -f run/checkpoints/step-000002.h5 && -f run/checkpoints/step-000004.h5 ]] || fail "files of the run"

curve=$(awk -f "$source/jobs/loss_curve.awk" run/metrics.jsonl)
[[ $(grep -o '\*' <<<"$curve" | wc -l) -eq 4 ]] || fail "4 marks in the curve: $curve"
[[ $(head -n 1 <<<"$curve") == *'|*'* ]] || fail "the loss does not fall from its start: $curve"
# Where the locale has a decimal comma, too.
if localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" 2>/dev/null; then
  there=$(LOCPATH=$work LC_ALL=de_DE.UTF-8 awk -f "$source/jobs/loss_curve.awk" run/metrics.jsonl)
  [[ $(tr , . <<<"$there") == "$curve" ]] || fail "the curve with decimal commas: $there"
fi
if awk -f "$source/jobs/loss_curve.awk" /dev/null; then fail "a curve of nothing"; fi

# The prompt, 20 bytes, and the end of the line.
"$triax" generate run/checkpoints/step-000004.h5 --prompt "Apache" --max-tokens 20 --top-k 1 >sample.txt
[[ $(head -c 6 sample.txt) == Apache && $(wc -c <sample.txt) -eq 27 ]] || fail "generated: $(cat sample.txt)"
