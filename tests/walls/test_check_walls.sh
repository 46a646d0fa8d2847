#!/usr/bin/env bash
# check_walls.sh itself: passes a tree in order, and finds each violation put into it.
set -euo pipefail
check=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/check_walls.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# put FILE [LINE]: appends a line to a file of the tree.
put() {
  mkdir -p "$tree/$(dirname "$1")"
  printf '%s\n' "${2:-}" >>"$tree/$1"
}

expect_pass() {
  local output
  if ! output=$("$check" "$tree" 2>&1); then
    echo "refused, but allowed: $1"
    echo "$output"
    failures=$((failures + 1))
  fi
}

# expect_refusal FILE [LINE]: the check fails and names the file when the line is put into it; without a line, the top folder
# that must not be there.
expect_refusal() {
  local output existed=1 named=$1
  [[ $# -gt 1 ]] || named=${1%%/*}
  [[ -e $tree/$1 ]] || existed=0
  put "$@"
  if output=$("$check" "$tree" 2>&1) || [[ $output != *"$named"*"("* ]]; then
    echo "not refused: $1 ${2:-}"
    echo "$output"
    failures=$((failures + 1))
  fi
  if [[ $existed -eq 1 ]]; then sed -i '$d' "$tree/$1"; else rm "$tree/$1"; fi
  find "$tree" -type d -empty -delete
  expect_pass "the tree without $1 ${2:-}"
}

folders=(kernels kernels/base io src src/comm src/config src/model src/schedule src/state src/train jobs tests benchmarks)
for folder in "${folders[@]}"; do put "$folder/README.md"; done
put .gitignore
put build-x/junk.cpp '#include "src/trainer/trainer.hpp"'
put kernels/matmul/matmul.cpp '#include <dnnl.hpp>'
put kernels/base/tensor.hpp '#include "kernels/base/check.hpp"'
put io/hdf5/hdf5.cpp '#include <hdf5.h>'
put src/comm/mpi/wait.hpp '#include <mpi.h>'
put src/schedule/plan.hpp '#include <vector>'
put src/model/block.cpp '#include "kernels/matmul/matmul.hpp"'
put src/model/block.cpp '#include "src/config/config.hpp"'
put src/state/store.cpp '#include "io/safetensors/safetensors.hpp"'
put src/trainer/trainer.cpp '  #  include "src/schedule/plan.hpp"'
put src/commands/main.cpp '#include "src/config/load/load.hpp"'
put tests/config/keys/test_key.cpp '#include "src/config/keys/key.hpp"'
put tests/kernels/matmul/test_matmul.cpp '#include <gtest/gtest.h>'
put tests/benchmarks/test_report.cpp '#include "benchmarks/support/report.hpp"'
expect_pass "a tree in order"

expect_refusal kernels/activation/gelu.cpp '#include "src/model/layer.hpp"'
expect_refusal kernels/activation/gelu.cpp '#include "io/hdf5/hdf5.hpp"'
expect_refusal kernels/base/tensor.hpp '#include "kernels/matmul/matmul.hpp"'
expect_refusal io/hdf5/hdf5.cpp '#include "src/comm/interface/communicator.hpp"'
expect_refusal io/hdf5/hdf5.cpp '#include "kernels/matmul/matmul.hpp"'
expect_refusal src/comm/mpi/wait.hpp '#include "src/model/layer.hpp"'
expect_refusal src/config/keys/key.cpp '#include "src/comm/topology/topology.hpp"'
expect_refusal src/schedule/plan.hpp '#include "kernels/base/check.hpp"'
expect_refusal src/schedule/plan.hpp '#include <fmt/core.h>'
expect_refusal src/schedule/plan.hpp '#include <unistd.h>'
expect_refusal src/model/block.cpp '#include "io/safetensors/safetensors.hpp"'
expect_refusal src/model/block.cpp '#include "src/state/store.hpp"'
expect_refusal src/model/block.cpp '#include "src/config/keys/key.hpp"'
expect_refusal src/state/store.cpp '#include "src/schedule/plan.hpp"'
expect_refusal src/trainer/trainer.cpp '#include "src/config/resolve/resolve.hpp"'
expect_refusal src/trainer/trainer.cpp '#include "tests/support/rank_main.hpp"'
expect_refusal src/trainer/trainer.cpp '#include "executor.hpp"'
expect_refusal src/trainer/trainer.cpp '  #  include <mpi.h>'
expect_refusal src/trainer/trainer.cpp '#include <hdf5.h>'
expect_refusal src/model/block.cpp '#include <Kokkos_Core.hpp>'
expect_refusal src/model/block.cpp '#include <dnnl.hpp>'
expect_refusal src/state/store.cpp '#include <CLI/CLI.hpp>'
expect_refusal kernels/activation/gelu.cpp '#include <gtest/gtest.h>'
expect_refusal tests/kernels/matmul/test_matmul.cpp '#include "benchmarks/support/report.hpp"'
expect_refusal kernels/activation/gelu.cpp '#include "benchmarks/support/report.hpp"'
expect_refusal utilities/helper.hpp
expect_refusal notes.txt
rm "$tree/io/README.md"
expect_missing=$("$check" "$tree" || true)
if [[ $expect_missing != "io: (no README.md"* ]]; then
  echo "a folder without README.md was not refused: $expect_missing"
  failures=$((failures + 1))
fi

if [[ $failures -gt 0 ]]; then
  echo "$failures failures"
  exit 1
fi
echo "all violations were found"
