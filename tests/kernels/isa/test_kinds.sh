#!/usr/bin/env bash
# Usage: test_kinds.sh SOURCE TRIAX MPIEXEC
# Trains one job at every ISA level that this processor has, on ranks that differ in it, and resumes at another level.
# The losses agree, and the first line of the log names the level.
set -euo pipefail
source=$1 triax=$2 mpiexec=$3
. "$(dirname "${BASH_SOURCE[0]}")/../../support/script.sh"

for _ in 1 2 3 4 5 6 7 8; do cat "$source/LICENSE"; done >text.txt
readonly job=("$source/jobs/examples/quickstart.json" --set data.train=text.txt --set data.valid=text.txt
              --set parallel.tensor=1 --set parallel.pipeline=1 --set checkpoint.interval=3)

# train RUN STEPS [--set ...]...
train() {
  local run=$1 steps=$2
  shift 2
  "$triax" train "${job[@]}" --set run.directory="$run" --set run.steps="$steps" "$@" >"$run.log" 2>&1 || fail "$(cat "$run.log")"
}
says() {
  grep -q "$2" <(head -n 1 "$1.log") || fail "the first line of $1 has no \"$2\": $(head -n 1 "$1.log")"
}
losses() {
  sed -n 's/.*"loss":\([^,]*\),"grad_norm":\([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"
}
# agree A B TOLERANCE: compares losses and gradient norms of all six steps.
agree() {
  [[ $(losses "$1" | wc -l) -eq 6 && $(losses "$2" | wc -l) -eq 6 ]] || fail "6 steps of $1 and $2"
  paste -d ' ' <(losses "$1") <(losses "$2") | awk -v most="$3" '
    function far(a, b) { d = (a - b) / b; return (d < 0 ? -d : d) > most }
    far($1, $3) || far($2, $4) { print; bad = 1 }
    END { exit bad }' || fail "$1 and $2 differ by more than $3"
}

unset TRIAX_ISA
"$triax" --version | grep -q "code for" || fail "--version: $("$triax" --version)"
status=0
TRIAX_ISA=sse "$triax" --version 2>said || status=$?
[[ $status -eq 2 && $(cat said) == "triax: TRIAX_ISA=sse cannot be used"* ]] || fail "an unknown kind: $status, $(cat said)"

train best 6
for kind in avx2 avx512 avx512_bf16 avx512_amx; do
  TRIAX_ISA=$kind "$triax" --version >/dev/null 2>&1 || continue  # this processor lacks that level
  TRIAX_ISA=$kind train "$kind" 6
  agree "$kind" best 1e-5
  TRIAX_ISA=$kind train "$kind-bf16" 6 --set bf16.enabled=true
  agree "$kind-bf16" avx2-bf16 1e-2
done
says avx2 "code for AVX2$"

says best "; code for "

# Resumed at the processor's best level: steps 3 to 5 of the run.
train resumed 6 --set checkpoint.resume=avx2/checkpoints/step-000003.h5
[[ $(losses resumed | wc -l) -eq 3 ]] || fail "a resumed run has $(losses resumed | wc -l) steps"
mkdir joined
grep -h '"loss"' avx2/metrics.jsonl | head -n 3 | cat - resumed/metrics.jsonl >joined/metrics.jsonl
agree joined best 1e-5

# Ranks that differ all use the lowest level among them.
if TRIAX_ISA=avx512 "$triax" --version >/dev/null 2>&1; then
  arguments=(train "${job[@]}" --set run.directory=mixed --set run.steps=6)
  "$mpiexec" -n 1 env TRIAX_ISA=avx2 "$triax" "${arguments[@]}" : -n 1 "$triax" "${arguments[@]}" >mixed.log 2>&1 ||
    fail "$(cat mixed.log)"
  says mixed "code for AVX2, since 1 of 2 ranks have no more$"
  agree mixed avx2 1e-5
fi
echo "the kinds of code agree"
