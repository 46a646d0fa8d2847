#!/usr/bin/env bash
# Usage: check_program.sh PROGRAM
# Checks that AVX-512 instructions occur only in functions of that ISA level, whose names end with .avx512, .avx512_bf16
# or .avx512_amx (kernels/isa/join.sh), AVX512-BF16 only in the latter two, and AMX only in the last. Prints every other
# function that has them, and exits 1.
set -euo pipefail
objdump -d --wide "$1" | awk -F '\t' '
  /^[0-9a-f]+ <.*>:$/ {
    name = $0
    sub(/^[0-9a-f]+ </, "", name)
    sub(/>:$/, "", name)
    own = name ~ /\.avx512(_bf16|_amx)?$/
    functions += own
    pairs = name ~ /avx512_(bf16|amx)$/
    tiles = name ~ /avx512_amx$/
    next
  }
  # The prefix 62 marks all instructions that AVX-512 added, except those on mask registers alone.
  $3 ~ /^(vdpbf16ps|vcvtne2?ps2bf16)/ { ++of_pairs; if (!pairs) { print name ": " $3; bad = 1 } }
  $3 ~ /^(tdp|tile|ldtilecfg|sttilecfg)/ { ++of_tiles; if (!tiles) { print name ": " $3; bad = 1 } }
  $2 ~ /^62 / || $3 ~ /%k[0-7]/ {
    if (own) { ++found; wide += $3 ~ /%zmm/; next }
    if (!refused[name]++) print name ": " $3
    bad = 1
  }
  END {
    print functions + 0 " functions for AVX-512, " found + 0 " of its instructions in them, " wide + 0 " on registers of 64 bytes"
    if (functions < 100 || found < 5000 || wide < 5000 || of_pairs < 50 || of_tiles < 50) { print "that is not the whole of the kernels"; bad = 1 }
    exit bad
  }'
