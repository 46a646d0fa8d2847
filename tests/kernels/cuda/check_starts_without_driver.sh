#!/usr/bin/env bash
# Usage: check_starts_without_driver.sh PROGRAM [ARGUMENT]...
# Fails if PROGRAM needs the GPU driver (libcuda) to be loaded, because it would not start on machines without it. With
# arguments, the program is also run.
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
