#!/bin/bash
# Runs the same training step by triax and by others in turns: each round runs every contestant once, so that a machine
# that slows down slows all of them.
#
#   benchmarks/peers/compare.sh [OPTION VALUE]... CONTESTANT... >lines.jsonl
#   build/benchmarks/summarize lines.jsonl
#
# Contestants: triax (one rank per core), triax-threads (one rank), triax-f32-gradients (gradients as in autocast),
# triax-keep-outputs, triax-zero1 and triax-zero3 (sharded state, to compare with deepspeed and fsdp), pytorch,
# pytorch-compile, pytorch-compile-blocks (block by block: a deep model in seconds), pytorch-bf16-weights, old-pytorch
# (another installation), old-pytorch-defaults (the same, not tuned), ddp, fsdp, deepspeed (one process per core), llm.c
# Options: --start DIR (from start.py; made with its defaults if missing; default peers-start)
#   --model gpt2-1.5b (instead of --start: each contestant makes random weights and tokens of that shape)
#   --batch 2   --seq 512   --type f32|bf16   --cores 1   --rounds 5   --steps 3 (timed, per round, after one that is not; llm.c: 2)
#   --device cpu|gpu (gpu: triax, pytorch, pytorch-compile and pytorch-bf16-weights on one GPU, without MPI's launcher)
# Variables: PYTHON (python3), OLD_PYTHON (python3 of the other installation), LLMC (a checkout of llm.c),
#   BENCHMARKS (build/benchmarks of this checkout)
#
# Each contestant runs on the first CORES cores that this shell may use, on one hardware thread of each. All ask for
# huge pages, as triax does by itself, except old-pytorch-defaults. If a contestant fails, stderr says why. Exits with 1
# if one failed, printed no finite first loss, or has a first loss in float32 that differs by more than 1e-5.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
start=peers-start batch=2 seq=512 type=f32 cores=1 rounds=5 steps=3 device=cpu model=
while [[ ${1-} == --* ]]; do
  case $1 in
    --start | --model | --batch | --seq | --type | --cores | --rounds | --steps | --device) declare "${1#--}=${2?$1 needs a value}" ;;
    *)
      sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
      exit 2
      ;;
  esac
  shift 2
done
[[ $# -gt 0 ]] || exec bash "${BASH_SOURCE[0]}" --help

refuse() {
  echo "compare.sh: $*" >&2
  exit 2
}
for program in "$@"; do
  case $program in
    triax | triax-threads | triax-f32-gradients | triax-keep-outputs | triax-zero1 | triax-zero3 | pytorch | pytorch-compile | pytorch-compile-blocks | ddp | fsdp | deepspeed) ;;
    pytorch-bf16-weights) [[ $type == bf16 ]] || refuse "$program is of bf16: give --type bf16" ;;
    old-pytorch | old-pytorch-defaults) : "${OLD_PYTHON?python3 of the other installation}" ;;
    llm.c)
      : "${LLMC?a checkout of llm.c}"
      [[ $type == f32 ]] || refuse "llm.c's C trainer has float32 alone: leave it out of --type $type"
      ;;
    *) refuse "no contestant $program (see --help)" ;;
  esac
done

python=${PYTHON:-python3}
programs=${BENCHMARKS:-$here/../../build/benchmarks}
name="${model:-$(basename "$start")} B=$batch T=$seq $type on $cores cores"
[[ $device == cpu || $device == gpu ]] || exec "$0" --help
[[ $device == cpu ]] || name="${model:-$(basename "$start")} B=$batch T=$seq $type on a GPU"
size=(--batch "$batch" --seq "$seq")
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
export OMP_NUM_THREADS=1
launch=(mpiexec)  # Open MPI's binds each rank of a small job to one core, whatever threads it has
if mpiexec --version 2>&1 | grep -iE 'open ?(mpi|rte)' >/dev/null; then launch+=(--bind-to none); fi
# GLIBC_TUNABLES serves glibc and so llm.c, THP_MEM_ALLOC_ENABLE PyTorch's allocator (2.2 and later).
export GLIBC_TUNABLES=${GLIBC_TUNABLES:+$GLIBC_TUNABLES:}glibc.malloc.hugetlb=1 THP_MEM_ALLOC_ENABLE=1
# The first hardware thread of each allowed core, because the next number may be on the same core.
first_threads() {
  {
    awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status | tr ',' '\n' |
      awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); ++i) print i }'
    lscpu -p=CPU,CORE,SOCKET | grep -v '^#'
  } | awk -F, -v cores="$cores" '
    NF == 1 { allowed[$1] = 1 }
    NF == 3 && allowed[$1] && !seen[$2, $3]++ && n++ < cores { print $1 }' | paste -sd,
}
if [[ $device == cpu ]]; then
  first=$(first_threads)
  [[ $(tr ',' '\n' <<<"$first" | grep -c .) -eq $cores ]] || refuse "--cores $cores: of a core each this shell may use $first alone"
  taskset -pc "$first" $$ >/dev/null
fi
from=(--model "$model") tokens_of=() python_from=(--model "$model")
# Each step reads new tokens, plus one token for the last label. One step is not timed.
if [[ -z $model ]]; then
  from=(--from "$start") tokens_of=(--tokens "$start/tokens.bin") python_from=("$start")
  tokens=$((batch * seq * (1 + (steps > 2 ? steps : 2)) + 1))
  [[ -e $start/config.json ]] || "$python" "$here/start.py" "$start" --tokens $((tokens > 1 << 20 ? tokens : 1 << 20))
  has=$((($(stat -Lc %s "$start/tokens.bin") - 1024) / 2))
  [[ $has -ge $tokens ]] || refuse "$start has $has tokens, and the steps take $tokens: make it again, by start.py with --tokens $tokens"
fi

triax() { # RANKS THREADS OPTION...
  if [[ $device == gpu ]]; then
    "$programs/step" --device gpu "${from[@]}" "${tokens_of[@]}" "${size[@]}" --type "$type" \
      --steps $((steps + 1)) "${label[@]}" "${@:3}"
    return
  fi
  "${launch[@]}" -n "$1" "$programs/step" "${from[@]}" "${tokens_of[@]}" "${size[@]}" --type "$type" --data "$1" \
    --threads "$2" --steps $((steps + 1)) "${label[@]}" "${@:3}"
}

pytorch() { # PYTHON OPTION...
  local interpreter=$1
  shift
  local place=(--threads "$cores")
  [[ $device == cpu ]] || place=(--device cuda)
  "$interpreter" "$here/pytorch_step.py" "${python_from[@]}" "${size[@]}" --dtype "$type" "${place[@]}" --steps "$steps" \
    "${label[@]}" "$@"
}

distributed() { # STRATEGY
  "${launch[@]}" -n "$cores" "$python" "$here/pytorch_step.py" "${python_from[@]}" "${size[@]}" --dtype "$type" --threads 1 --ranks "$cores" \
    --steps "$steps" --strategy "$1" "${label[@]}"
}

contestant() {
  local label=(--case "$name" --program "$1")
  if [[ $device == gpu && ! $1 =~ ^(triax|triax-f32-gradients|triax-keep-outputs|pytorch|pytorch-compile|pytorch-compile-blocks|pytorch-bf16-weights)$ ]]; then
    echo "compare.sh: $1 does not run on a GPU here" >&2
    return 1
  fi
  case $1 in
    triax) triax "$cores" 1 ;;
    triax-f32-gradients) triax "$cores" 1 --gradients f32 ;;
    triax-keep-outputs) triax "$cores" 1 --keep-outputs ;;
    triax-zero1) triax "$cores" 1 --zero 1 ;;
    triax-zero3) triax "$cores" 1 --zero 3 ;;
    triax-threads) triax 1 "$cores" ;;
    pytorch) pytorch "$python" ;;
    pytorch-compile) pytorch "$python" --compile ;;
    pytorch-compile-blocks) pytorch "$python" --compile blocks ;;
    pytorch-bf16-weights) pytorch "$python" --dtype bf16-weights ;;
    old-pytorch) pytorch "$OLD_PYTHON" ;;
    old-pytorch-defaults)  # in this round's own shell
      unset GLIBC_TUNABLES THP_MEM_ALLOC_ENABLE
      pytorch "$OLD_PYTHON" --defaults
      ;;
    ddp | fsdp | deepspeed) distributed "$1" ;;
    llm.c) "$python" "$here/llmc_step.py" "$start" "$LLMC" "${size[@]}" --threads "$cores" "${label[@]}" ;;
  esac
}

failed=0
echo "huge pages: $(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || echo none)" >&2
for ((round = 1; round <= rounds; ++round)); do
  for program in "$@"; do
    echo "round $round of $rounds: $program" >&2
    contestant "$program" | awk '/^[{]/ { print } /^[{]"benchmark": *"step"/ { step = 1 } END { exit !step }' | tee -a "$lines" || {
      echo "compare.sh: $program failed" >&2
      failed=1
    }
  done
done

awk '/"benchmark": *"step"/ && !/"first_loss": *[0-9]/ { print "compare.sh: no finite first loss: " $0; none = 1 }
  END { exit none }' "$lines" >&2 || failed=1
if [[ $type == f32 && -z $model ]]; then
  sed -n 's/.*"first_loss": *\([0-9.e+-]*\).*/\1/p' "$lines" | sort -g | awk '
    NR == 1 { least = $1 }
    END { if (NR > 0 && $1 - least > 1e-5 * least) { print "compare.sh: first losses differ: " least " to " $1; exit 1 } }' >&2 || failed=1
fi
exit "$failed"
