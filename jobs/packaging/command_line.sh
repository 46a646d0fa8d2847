#!/usr/bin/env bash
# Usage: command_line.sh TRIAX VERSION MAN_PAGE COMPLETION
# Writes the man page and the bash completion of a triax from what its --help and `config --reference` print. cmake --install
# calls it (install.cmake). Status 1 where the program does not run on this machine.
set -euo pipefail
triax=$1 version=$2 man_page=$3 completion=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
records=$(mktemp)
trap 'rm -f "$records"' EXIT

# --help of a command, and of those that it names.
help_of() {
  local text name
  text=$("$triax" "$@" --help </dev/null)
  echo "@@ triax${*:+ $*}"
  echo "$text"
  while read -r name; do
    help_of "$@" "$name"
  done < <(awk 'tolower($1) == "subcommands:" { on = 1; next } NF == 0 { on = 0 } on && /^  [a-z]/ { print $1 }' <<<"$text")
}

commands=$(help_of)
reference=$("$triax" config --reference </dev/null)
printf '%s\n' "$commands" '@@ reference' "$reference" | awk -f "$here/help.awk" >"$records"
date=$(date -u ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"} +%F)
awk -v date="$date" -v version="$version" -f "$here/man.awk" "$records" >"$man_page"
{
  awk -v version="$version" -f "$here/completion.awk" "$records"
  cat "$here/completion.bash"
} >"$completion"
