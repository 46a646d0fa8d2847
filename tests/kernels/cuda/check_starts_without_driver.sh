#!/usr/bin/env bash
# Usage: check_starts_without_driver.sh PROGRAM [ARGUMENT]...
# Refuses a program that needs the GPU's driver (libcuda) to be loaded: it would not start where there is none. With arguments
# it is run too.
set -euo pipefail

libraries=$(ldd "$1")
if ! grep -q 'libcudart' <<<"$libraries"; then
  echo "$1 is not linked to the CUDA runtime: a build without CUDA?"
  exit 1
fi
if grep -E 'libcuda[.]so' <<<"$libraries"; then
  echo "$1 does not start on a machine without a driver"
  exit 1
fi
if [[ $# -gt 1 ]]; then "$@"; fi
