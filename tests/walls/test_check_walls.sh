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
  [[ -e $tree/$1 || $1 != *.[ch]pp ]] || echo "// SPDX-License-Identifier: Apache-2.0" >"$tree/$1"
  printf '%s\n' "${2:-}" >>"$tree/$1"
}

expect_pass() {
  local output
  if ! output=$(check_tree); then
    echo "refused, but allowed: $1"
    echo "$output"
    failures=$((failures + 1))
  fi
}

# The tree as git tracks it: what lies in it untracked is not judged.
check_tree() {
  git -C "$tree" add -A
  "$check" "$tree" 2>&1
}

# expect_refusal FILE [LINE [NAME]]: the check fails and names the file, or NAME, when the line is put into it; without a
# line, the top folder that must not be there.
expect_refusal() {
  local output existed=1 named=$1
  [[ $# -gt 1 ]] || named=${1%%/*}
  [[ $# -lt 3 ]] || named=$3
  [[ -e $tree/$1 ]] || existed=0
  put "$1" "${2:-}"
  if output=$(check_tree) || [[ $output != *"$named"*"("* ]]; then
    echo "not refused: $1 ${2:-}"
    echo "$output"
    failures=$((failures + 1))
  fi
  if [[ $existed -eq 1 ]]; then sed -i '$d' "$tree/$1"; else rm "$tree/$1"; fi
  find "$tree" -type d -empty -not -path '*/.git/*' -delete
  expect_pass "the tree without $1 ${2:-}"
}

# expect_page_refusal SIZE: the check names the size of README.md, which is then put back from build-x/page.
expect_page_refusal() {
  local output
  if output=$(check_tree) || [[ $output != "README.md: ($1"* ]]; then
    echo "not refused: a README.md of $1: $output"
    failures=$((failures + 1))
  fi
  cp "$tree/build-x/page" "$tree/README.md"
}

git -C "$tree" init -q
folders=(kernels kernels/base io src src/comm src/config src/model src/schedule src/state src/trainer src/commands jobs tests benchmarks)
for folder in "${folders[@]}"; do put "$folder/README.md"; done
put .gitignore 'build-*'
put README.md "$(printf 'word %.0s' {1..20})"
put jobs/guides/build.md "$(printf '%120s' '')"
put CHANGELOG.md "$(printf '%130s' '')"
put CITATION.cff
for header in kernels/matmul/matmul io/hdf5/hdf5 src/model/block src/state/store src/trainer/trainer kernels/activation/gelu src/config/keys/key; do
  put "$header.hpp" '#pragma once'
done
put build-x/junk.cpp '#include "src/trainer/trainer.hpp"'
put kernels/matmul/matmul.cpp '#include <dnnl.hpp>'
put kernels/base/tensor.hpp '#include "kernels/base/check.hpp"'
put io/hdf5/hdf5.cpp '#include <hdf5.h>'
put kernels/base/mpi/wait.hpp '#include <mpi.h>'
put src/schedule/plan.hpp '#include <vector>'
put src/model/block.cpp '#include "kernels/matmul/matmul.hpp"'
put src/model/block.cpp '#include "src/config/config.hpp"'
put src/state/store.cpp '#include "src/model/block.hpp"'
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
expect_refusal kernels/base/mpi/wait.hpp '#include "src/model/layer.hpp"'
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
expect_refusal src/trainer/trainer.cpp '#include "src/other/file.hpp"'
expect_refusal src/trainer/trainer.cpp '#include "kernels/cuda/launch/stream.hpp"'
expect_refusal src/trainer/trainer.cpp '  // What the trainer holds.'
expect_refusal src/trainer/trainer.cpp '  // The shards of ZeRO 3.'
expect_refusal src/model/alone.cpp '#include <vector>'
expect_refusal README.md "$(printf '%121s' '')"
expect_refusal jobs/guides/build.md "$(printf '%121s' '')"

expect_refusal src/folder/README.md '#folder : broken' src/folder/README.md

put src/state/shard.hpp $'namespace triax {\nstruct Shard {\n};\n}  // namespace triax'
put src/model/shard.hpp $'namespace triax::other {\nclass Shard {\n};\n}  // namespace triax::other'
expect_pass "types of one name in two namespaces"
put kernels/matmul/shard.hpp $'namespace triax {\nclass Shard {\n};\n}  // namespace triax'
if output=$(check_tree) || [[ $output != *"src/state/shard.hpp: (triax::Shard is the name of a type in kernels/matmul/shard.hpp)"* ]]; then
  echo "two types of one name were not refused: $output"
  failures=$((failures + 1))
fi
rm "$tree/kernels/matmul/shard.hpp"

# A file with no header of its name is allowed where it extends one, or its folder's.
put src/trainer/trainer_saves.cpp '#include "src/trainer/trainer.hpp"'
put kernels/matmul/vendor.cpp '#include "kernels/matmul/matmul.hpp"'
expect_pass "files that extend a header"

printf '#pragma once\n' >"$tree/src/state/bare.hpp"
if output=$(check_tree) || [[ $output != *"src/state/bare.hpp: (its first line"* ]]; then
  echo "a source without a license line was not refused: $output"
  failures=$((failures + 1))
fi
rm "$tree/src/state/bare.hpp"

# Circles of three files, and none where a .cpp uses a part that takes its header's types.
put src/state/first.hpp '#include "src/state/second.hpp"'
put src/state/second.hpp '#include "src/state/third.hpp"'
expect_pass "a chain of includes"
expect_refusal src/state/third.hpp '#include "src/state/first.hpp"' src/state/third
put src/state/store.cpp '#include "src/state/store_parts.hpp"'
put src/state/store_parts.hpp '#include "src/state/store.hpp"'
expect_pass "a part of a file"

for number in {1..24}; do put "src/recipe/file$number.hpp" '#pragma once'; done
put src/recipe/README.md
expect_pass "a folder of 25 files"
expect_refusal src/recipe/file25.hpp '#pragma once' src/recipe

# What compare.sh leaves in a checkout, and git does not track.
put runs/compare/trainer.hpp '#include "nowhere.hpp"'
put .gitignore runs
expect_pass "files that git ignores"

cp "$tree/README.md" "$tree/build-x/page"
for _ in {1..120}; do put README.md; done
expect_page_refusal "121 lines"
for _ in {1..59}; do put README.md "$(printf 'word %.0s' {1..20})"; done
expect_pass "a README.md of 60 lines and 1200 words"
put README.md word
expect_page_refusal "1201 words"

rm "$tree/io/README.md"
expect_missing=$(check_tree || true)
if [[ $expect_missing != "io: (no README.md"* ]]; then
  echo "a folder without README.md was not refused: $expect_missing"
  failures=$((failures + 1))
fi

put io/README.md
for number in {1..3}; do put "io/tokens/file$number.hpp" '#pragma once'; done
expect_missing=$(check_tree || true)
if [[ $expect_missing != *"io/tokens: (3 headers and no README.md"* ]]; then
  echo "three headers without README.md were not refused: $expect_missing"
  failures=$((failures + 1))
fi

if [[ $failures -gt 0 ]]; then
  echo "$failures failures"
  exit 1
fi
echo "all violations were found"
