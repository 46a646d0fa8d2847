#!/usr/bin/env bash
# Usage: test_format.sh SOURCE
# Every source is as clang-format 14 (Debian 12) writes it, and shellcheck finds nothing in the scripts. Each is left out where it is not
# installed; status 77 where neither is.
set -euo pipefail
cd "$1"
tried=no failed=no
if clang-format --version 2>/dev/null | grep -q 'version 14[.]'; then  # others break lines elsewhere
  tried=yes
  find benchmarks io kernels src tests \( -name '*.cpp' -o -name '*.hpp' \) -print0 |
    xargs -0 -P 4 -n 40 clang-format --dry-run --Werror || failed=yes
else
  echo "skipped: clang-format 14 is not installed"
fi
if command -v shellcheck >/dev/null; then
  tried=yes
  shellcheck --severity=warning --exclude=SC2034,SC2154 -x jobs/*.sh jobs/*.sbatch jobs/packaging/*.sh tests/jobs/*.sh tests/slurm/*.sh || failed=yes
else
  echo "skipped: shellcheck is not installed"
fi
[[ $failed == no ]]
[[ $tried == yes ]] || exit 77
echo passed
