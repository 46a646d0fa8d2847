#!/usr/bin/env bash
# Usage: test_pages.sh SOURCE TRIAX PAGE...
# What README.md and the guides show is so: their jobs, excerpts of the plan and of the code, keys, commands, files, links.
set -euo pipefail
source=$1 triax=$2
shift 2
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
text=(--set data.train="$1" --set data.valid="$1")  # any text will do

# indented PAGE: the page's example blocks, without their indentation.
indented() { sed -n 's/^    //p' "$1"; }

# The whole job that a page shows, if any, is one that triax takes.
check_job() {
  local job
  job=$(indented "$1" | sed -n '/^{$/,/^}$/p')
  [[ -n $job ]] || return 0
  echo "$job" >job.json
  "$triax" config job.json --ranks 8 "${text[@]}" >config.txt 2>said.txt || fail "$1: its job is refused: $(<said.txt)"
  [[ $1 == *plan.md ]] || cp job.json demo.json  # a plan of 70B parameters is not shown
  jobs=$((jobs + 1))
}

# Numbered lines of a plan; a run of two or more spaces parts the columns of the excerpt.
check_plan() {
  indented "$1" | grep -E '^[0-9]+  [a-zA-Z]' | sed -E 's/   +/\n/g' | sed '/^$/d; /^\.\.\.$/d' >excerpt.txt || return 0
  while IFS= read -r line; do
    grep -qxF "$line" plan.txt || fail "$1: the plan has no line '$line'"
    instructions=$((instructions + 1))
  done <excerpt.txt
}

# Lines of code, up to a comment or to what follows on the line.
check_code() {
  indented "$1" | grep -E '^(case OpKind|load_|running\.)' | sed -E 's| +//.*||; s/^case [A-Za-z:]*: //; s/ break;$//' >code.txt || return 0
  while IFS= read -r line; do
    grep -rqF --include='*.cpp' "$line" "$source/src" || fail "$1: no '$line' in src"
    statements=$((statements + 1))
  done <code.txt
}

check_keys() {
  local key
  while IFS= read -r key; do
    [[ $key != *.cpp && $key != model.safetensors ]] || continue
    grep -q "^$key " reference.txt || grep -q "^$key\\." reference.txt || fail "$1: there is no key $key"
    keys=$((keys + 1))
  done < <(grep -oE '`(model|data|parallel|run|checkpoint|optimizer|scheduler|zero_optimization|activation_checkpointing|fsdp|fp16)\.[a-z_0-9.]+`' "$1" |
    tr -d '`' | sort -u)
}

# help_of WORD...: the help of the command that these words begin with, in help.txt; fails if there is no such command.
help_of() {
  local command=$2
  [[ $command != checkpoint && $command != tokenizer && $command != trace ]] || command+=" ${3:-}"
  # shellcheck disable=SC2086  # two words
  "$triax" $command --help >help.txt 2>&1 && grep -q "^Usage: triax $command " help.txt
}

# Each command line has options that the command knows.
check_commands() {
  local line option
  local -a words
  while IFS= read -r line; do
    read -ra words <<<"$line"
    [[ ${words[1]} != COMMAND ]] || continue
    help_of "${words[@]}" || fail "$1: triax has no command as in '$line'"
    for option in "${words[@]:2}"; do
      [[ $option == --* ]] || continue
      grep -q -- "$option" help.txt || fail "$1: no option $option as in '$line'"
    done
    commands=$((commands + 1))
  done < <(grep -oE '(^ +(\$ )?([^#`]* )?|`)triax (train|config|evaluate|generate|serve|batch|checkpoint|tokenizer|report|watch|trace|doctor|COMMAND)[^#`|>;]*' "$1" | grep -oE 'triax [a-z][^\\]*')
}

check_files() {
  local file roots='jobs|tests|benchmarks|src|io|kernels'
  while IFS= read -r file; do
    [[ -e $source/$file ]] || compgen -G "$source/$file*" >/dev/null || fail "$1: there is no $file"
  done < <(grep -oP "(?<![/\\w.])($roots)/[A-Za-z0-9_/.-]*[A-Za-z0-9_]" "$1" | grep -v NAME | sort -u)
  while IFS= read -r file; do
    [[ -n $(find "$source"/{src,io,kernels} -name "$file" -print -quit) ]] || fail "$1: there is no source $file"
  done < <(grep -oP '`[a-z_]+\.(hpp|cpp)`' "$1" | tr -d '`' | sort -u)
}

# Links to other files; those to a section name one of its headings.
check_links() {
  local link file
  while IFS= read -r link; do
    file=$(dirname "$1")/${link%%#*}
    [[ $link != http* ]] || continue
    [[ -e $file ]] || fail "$1: the link $link leads nowhere"
    links=$((links + 1))
  done < <(grep -oP '(?<=\]\()[^)]+|^\[[^]]+\]: \K.*' "$1")
}

jobs=0 instructions=0 statements=0 keys=0 commands=0 links=0
"$triax" config --reference >reference.txt
for page; do check_job "$page"; done
[[ $jobs -ge 2 ]] || fail "no page has a job"
"$triax" train demo.json --print-plan --set parallel.data=2 "${text[@]}" 2>/dev/null | sed 's/^ *//; s/ *$//; /^stage 1/q' >plan.txt
for page; do
  check_plan "$page"
  check_code "$page"
  check_keys "$page"
  check_commands "$page"
  check_files "$page"
  check_links "$page"
done
[[ $instructions -ge 15 ]] || fail "no page has an excerpt of a plan"
[[ $statements -ge 8 ]] || fail "no page has an excerpt of the code"
[[ $keys -ge 10 && $commands -ge 10 && $links -ge 20 ]] || fail "the pages have $keys keys, $commands commands, $links links"
echo "$# pages: $jobs jobs, $instructions instructions, $statements statements, $keys keys, $commands commands, $links links"
