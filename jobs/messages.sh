# shellcheck shell=bash
# Sourced by slurm.sh and chain.sh.

# The head of a script, down to its first empty line, is its help.
print_help() { sed -n '2,/^$/s/^# \{0,1\}//p' "$1"; }

# fail TEXT: prints it behind $name, the script's name, and exits with status 2.
fail() {
  echo "$name: $*" >&2
  exit 2
}
