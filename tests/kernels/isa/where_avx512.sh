#!/bin/sh
# Usage: where_avx512.sh PROGRAM ARGUMENT...: runs it if the processor has AVX-512, else exits 77.
for feature in f bw cd dq vl; do
  grep -q "^flags.* avx512$feature" /proc/cpuinfo || exit 77
done
exec "$@"
