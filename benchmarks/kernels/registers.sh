#!/bin/bash
# Prints what ptxas says of the GPU kernels, as a table: registers per thread, static shared memory, spilled bytes, and
# how many of a multiprocessor's warps can be resident ("occupancy", in theory), for each architecture. Needs nvcc, no
# GPU.
#
#   benchmarks/kernels/registers.sh [-a "80 90a 100"] [FILE.cu...] >table.md     # default: all of kernels/cuda
#
# Threads per block are those that a kernel is compiled for (max_threads). Dynamic shared memory is that of the launch
# shape (kernels/cuda/attention/attention_shape.cpp) for attention on tensor cores, and counted as 0 elsewhere. "by"
# names what limits the warps: registers, threads or shared memory. Kernels with several widths have one row each;
# kernels that differ only in the type of their elements are one row with the largest numbers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
architectures="80 90a 100"
if [[ ${1-} == -a ]]; then
  architectures=$2
  shift 2
fi
[[ $# -gt 0 ]] || set -- kernels/cuda/*/*.cu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for file in "$@"; do
  for architecture in $architectures; do
    echo "$file sm_$architecture" >&2
    rm -f "$work"/*.ptx
    nvcc -std=c++20 -O3 -DNDEBUG -DFMT_USE_CONSTEXPR=1 -I. -Isrc --expt-relaxed-constexpr -Xptxas=-v \
      -gencode "arch=compute_$architecture,code=sm_$architecture" -cubin -o "$work/cubin" --keep --keep-dir "$work" \
      "$file" 2>"$work/said" || {
      cat "$work/said" >&2
      exit 1
    }
    awk '/\.entry / { name = $0; sub(/.*\.entry /, "", name); sub(/\(.*/, "", name) }
         /^\.maxntid / { gsub(/,/, " "); print name, $2 * ($3 ? $3 : 1) * ($4 ? $4 : 1) }' "$work"/*.ptx >"$work/threads"
    awk -v sm="$architecture" '
      NR == FNR { threads[$1] = $2; next }
      /Compiling entry function/ { split($0, quoted, "\047"); name = quoted[2] }
      /bytes stack frame/ { stack = $1; spill = $5 + $9 }
      /Used [0-9]+ registers/ {
        registers = shared = 0
        for (i = 1; i < NF; ++i) {
          if ($i == "Used") registers = $(i + 1)
          if ($(i + 1) == "bytes" && $(i + 2) ~ /^smem/) shared = $i
        }
        print sm, registers, shared, stack, spill, threads[name] + 0, name
      }' "$work/threads" "$work/said" >>"$work/kernels"
  done
done

# Turns run_body<Body> into the name of its body, without namespaces and element types.
c++filt <"$work/kernels" | sed -E '
  s/void triax::cuda::run_body</ /
  s/>\(triax::.*$//
  s/triax::cuda::\(anonymous namespace\)::|triax::cuda::|triax::|\(anonymous namespace\):://g
  s/\((int|bool|Limits)\)//g
  s/(, )?\b(__nv_bfloat16|__half|Bf16|F16|float|double|unsigned char|long|unsigned int)\b//g
  s/<, /</g; s/<>//g; s/ +>/>/g; s/> *$/>/' |
  awk '
    function ceil_to(x, unit) { return int((x + unit - 1) / unit) * unit }
    { sm = $1; registers = $2; shared = $3; stack = $4; spill = $5; threads = $6
      name = $7; for (i = 8; i <= NF; ++i) name = name " " $i
      key = name SUBSEP sm
      if (!(name in seen)) { seen[name] = ++kernels; names[kernels] = name }
      archs[sm] = 1
      if (registers > most[key]) most[key] = registers
      if (shared > static_[key]) static_[key] = shared
      if (spill > spilt[key]) spilt[key] = spill
      if (stack > local[key]) local[key] = stack
      if (threads > of_block[name]) of_block[name] = threads }
    # Shared memory of the launch shape (bytes), by head width (attention_shape.cpp): rows held, rows walked.
    function dynamic(name,   width) {
      width = name ~ /128/ ? 128 : 64
      if (name ~ /^Forward<(64|128)/) return (128 + 2 * 64) * width * 2
      if (name ~ /^QueryGradient/) return (2 * 128 + 4 * 32) * width * 2
      if (name ~ /^KeyGradient/) return (width == 64 ? (2 * 64 + 4 * 64) * 64 * 2 + 1024 : (2 * 64 + 4 * 32) * 128 * 2 + 512)
      return 0
    }
    function occupancy(name, sm,   warps, by_registers, by_shared, memory, blocks, block) {
      warps = ceil_to(of_block[name], 32) / 32
      if (warps == 0) return "?"
      memory = (sm == "80" ? 164 : sm ~ /^(86|89|12)/ ? 100 : 228) * 1024
      block = static_[name, sm] + dynamic(name) + 1024
      blocks = int((sm ~ /^(86|89|12)/ ? 48 : 64) / warps); why = "threads"
      by_registers = int(int(65536 / ceil_to(most[name, sm] * 32, 256)) / warps)
      if (by_registers < blocks) { blocks = by_registers; why = "registers" }
      by_shared = int(memory / block)
      if (by_shared < blocks) { blocks = by_shared; why = "shared memory" }
      return sprintf("%d%% (%s)", 100 * blocks * warps / (sm ~ /^(86|89|12)/ ? 48 : 64), why)
    }
    END {
      n = split(order, list, " ")
      printf "| kernel | threads | shared |"; for (i = 1; i <= n; ++i) printf " sm_%s: registers | occupancy |", list[i]
      print " spilt | local |"; printf "|---|---|---|"; for (i = 1; i <= n; ++i) printf "---|---|"; print "---|---|"
      for (k = 1; k <= kernels; ++k) {
        name = names[k]; spill = stack = 0
        printf "| `%s` | %d | %d |", name, of_block[name], static_[name, list[1]] + dynamic(name)
        for (i = 1; i <= n; ++i) {
          printf " %d | %s |", most[name, list[i]], occupancy(name, list[i])
          if (spilt[name, list[i]] > spill) spill = spilt[name, list[i]]
          if (local[name, list[i]] > stack) stack = local[name, list[i]]
        }
        printf " %d | %d |\n", spill, stack
      }
    }' order="$architectures" -
