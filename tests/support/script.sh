# Sourced by test scripts: creates a temporary directory, changes into it, and removes it at the end.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
