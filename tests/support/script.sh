# Sourced by test scripts: begins a directory of the script's own, removed at its end, and changes into it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
