#!/usr/bin/env bash
# Usage: test_readme.sh SOURCE TRIAX
# What README.md shows is so: its job, the excerpt of that job's plan, the lines of code, the keys, the files.
set -euo pipefail
source=$1 triax=$2
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
readme=$source/README.md

# The job, without its indentation. Its text is what the quickstart leaves: any will do.
sed -n '/^    {$/,/^    }$/s/^    //p' "$readme" >demo.json
text=(--set data.train="$readme" --set data.valid="$readme")
"$triax" config demo.json --ranks 8 "${text[@]}" >config.txt || fail "README's job is refused"

# A run of two or more spaces parts the columns of the excerpt.
"$triax" train demo.json --print-plan --set parallel.data=2 "${text[@]}" >stages.txt
sed 's/^ *//; s/ *$//; /^stage 1/q' stages.txt >plan.txt
grep -E '^    [0-9]+  [a-zA-Z]' "$readme" | sed -E 's/   +/\n/g' | sed '/^$/d; /^\.\.\.$/d' >excerpt.txt
[[ $(wc -l <excerpt.txt) -ge 15 ]] || fail "README has no excerpt of a plan"
while IFS= read -r line; do
  grep -qxF "$line" plan.txt || fail "the plan has no line '$line', which README shows"
done <excerpt.txt

# Lines of code, up to a comment or to what follows on the line.
grep -E '^    (case OpKind|batch_\.|running\.)' "$readme" | sed -E 's/^ *//; s| +//.*||; s/^case [A-Za-z:]*: //; s/ break;$//' >code.txt
[[ $(wc -l <code.txt) -ge 8 ]] || fail "README has no excerpt of the code"
while IFS= read -r line; do
  grep -qF "$line" "$source"/src/train/{trainer_steps,executor}.cpp || fail "no '$line' in src/train, which README shows"
done <code.txt

"$triax" config --reference >reference.txt
grep -oE '`(model|data|parallel|run|checkpoint|optimizer|scheduler|zero_optimization|activation_checkpointing|fsdp)\.[a-z_0-9.]+`' "$readme" |
  tr -d '`' | sort -u >keys.txt
[[ $(wc -l <keys.txt) -ge 10 ]] || fail "README names no keys"
while IFS= read -r key; do
  [[ $key != model.safetensors ]] || continue
  grep -q "^$key " reference.txt || grep -q "^$key\\." reference.txt || fail "README speaks of the key $key, which there is not"
done <keys.txt

grep -oP '(?<![/\w])(jobs|src|io|tests|kernels|benchmarks)/[A-Za-z0-9_/.-]*[A-Za-z0-9_]' "$readme" | grep -vE 'NAME|PART' | sort -u >files.txt
while IFS= read -r file; do
  [[ -e $source/$file ]] || compgen -G "$source/$file*" >/dev/null || fail "README speaks of $file, which there is not"
done <files.txt
