#!/usr/bin/env bash
# Usage: check_program.sh PROGRAM
# Instructions of AVX-512 stand in functions of that kind of code alone, whose names end with .avx512 or .avx512_bf16
# (kernels/isa/join.sh), and those of AVX512-BF16 in the latter: nothing else of the program can meet one. Prints each
# other function that has them, and exits 1.
set -euo pipefail
objdump -d --wide "$1" | awk -F '\t' '
  /^[0-9a-f]+ <.*>:$/ {
    name = $0
    sub(/^[0-9a-f]+ </, "", name)
    sub(/>:$/, "", name)
    own = name ~ /\.avx512(_bf16)?$/
    functions += own
    pairs = name ~ /bf16$/
    next
  }
  # The prefix 62 stands before whatever AVX-512 added, but for the instructions on mask registers alone.
  $3 ~ /^(vdpbf16ps|vcvtne2?ps2bf16)/ { ++of_pairs; if (!pairs) { print name ": " $3; bad = 1 } }
  $2 ~ /^62 / || $3 ~ /%k[0-7]/ {
    if (own) { ++found; wide += $3 ~ /%zmm/; next }
    if (!refused[name]++) print name ": " $3
    bad = 1
  }
  END {
    print functions + 0 " functions for AVX-512, " found + 0 " of its instructions in them, " wide + 0 " on registers of 64 bytes"
    if (functions < 100 || found < 5000 || wide < 5000 || of_pairs < 50) { print "that is not the whole of the kernels"; bad = 1 }
    exit bad
  }'
