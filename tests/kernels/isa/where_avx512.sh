#!/bin/sh
# Usage: where_avx512.sh PROGRAM ARGUMENT...: runs it where the processor has AVX-512; status 77 elsewhere.
for feature in f bw cd dq vl; do
  grep -q "^flags.* avx512$feature" /proc/cpuinfo || exit 77
done
exec "$@"
