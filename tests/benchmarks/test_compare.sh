#!/usr/bin/env bash
# What benchmarks/peers/compare.sh gives each contestant, on which cores, and what it makes of their lines: python, mpiexec,
# step, lscpu and taskset are stubs.
# Usage: test_compare.sh SOURCE
set -euo pipefail
source=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"

mkdir bin programs
# Makes a start, or prints a line with the first loss that is wanted of it.
cat >bin/python <<'STUB'
#!/usr/bin/env bash
echo "${1##*/} ${*:2} glibc=${GLIBC_TUNABLES-} thp=${THP_MEM_ALLOC_ENABLE-}" >>calls
if [[ $1 == */start.py ]]; then
  mkdir -p "$2"
  touch "$2/config.json"
  head -c $((1024 + 2 * $4)) /dev/zero >"$2/tokens.bin"
  exit
fi
echo "{\"benchmark\": \"step\", \"case\": \"\", \"first_loss\": ${LOSS-11.0}}"
STUB
cat >programs/step <<'STUB'
#!/usr/bin/env bash
echo "step $*" >>calls
echo '{"benchmark":"machine"}'
[[ -n ${SILENT-} ]] || echo "{\"benchmark\":\"step\",\"first_loss\":${OURS-11.0}}"
STUB
cat >bin/mpiexec <<'STUB'
#!/usr/bin/env bash
if [[ $1 == --version ]]; then echo "${LIBRARY:-HYDRA build details:}"; exit; fi
if [[ $1 == --bind-to ]]; then echo "bind to $2" >>calls; shift 2; fi
echo -n "$2 ranks: " >>calls
shift 2
exec "$@"
STUB
printf '#!/bin/sh\necho "$2" >cores\n' >bin/taskset
# Two hardware threads a core, next to each other among those that are allowed.
allowed=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status | tr ',' '\n' |
  awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); ++i) print i }')
awk '{ print $1 "," int((NR - 1) / 2) ",0" }' <<<"$allowed" >siblings
printf '#!/bin/sh\necho "# CPU,Core,Socket"\ncat siblings\n' >bin/lscpu
chmod +x bin/* programs/*

# compare EXPECTED_STATUS ARGUMENT...: its lines go to lines, what it says to log.
compare() {
  local expected=$1 status=0
  shift
  rm -f calls
  PATH=$work/bin:$PATH PYTHON=python OLD_PYTHON=python BENCHMARKS=$work/programs \
    "$source/benchmarks/peers/compare.sh" --start start --rounds 1 "$@" >lines 2>log || status=$?
  [[ $status -eq $expected ]] || fail "status $status of: compare.sh $*: $(cat log)"
}
says() { grep -qF -- "$2" "$1" || fail "$1 does not say: $2. It says: $(cat "$1")"; }
unset GLIBC_TUNABLES THP_MEM_ALLOC_ENABLE

compare 0 triax pytorch pytorch-compile old-pytorch old-pytorch-defaults ddp triax-zero1 triax-zero3
says calls 'start.py start --tokens 1048576'
says calls '1 ranks: pytorch_step.py'
says calls ' --ranks 1 '
says calls ' --zero 1'
says calls ' --zero 3'
# All contestants but one as it comes ask for huge pages, and none has more steps before those that are timed.
says calls '--program old-pytorch glibc=glibc.malloc.hugetlb=1 thp=1'
says calls '--program old-pytorch-defaults --defaults glibc= thp='
if grep -q -e '--warmup' calls; then fail "some warm up longer: $(cat calls)"; fi

LIBRARY='mpiexec (OpenRTE) 4.1.4' compare 0 triax-threads
says calls 'bind to none'

# Random weights of a shape, without a start.
compare 0 --model gpt2-1.5b triax-keep-outputs pytorch-compile-blocks
says calls 'step --model gpt2-1.5b --batch 2'
says calls '--keep-outputs'
says calls 'pytorch_step.py --model gpt2-1.5b --batch 2'
says calls '--compile blocks'

# A hardware thread of each core.
count=$(wc -l <siblings)
compare 0 --cores $(((count + 1) / 2)) pytorch
[[ $(<cores) == "$(awk 'NR % 2 == 1' <<<"$allowed" | paste -sd,)" ]] || fail "cores: $(<cores), of $(paste -sd' ' siblings)"
compare 2 --cores $(((count + 1) / 2 + 1)) pytorch
says log 'of a core each this shell may use'

# No line of a step, and losses that differ, or are none.
SILENT=1 compare 1 pytorch triax
says log 'compare.sh: triax failed'
OURS=11.0002 compare 1 triax pytorch
says log 'first losses differ'
for loss in null NaN; do
  LOSS=$loss OURS=$loss compare 1 triax pytorch
  [[ $(grep -c 'no finite first loss' log) -eq 2 ]] || fail "losses that are none: $(cat log)"
  LOSS=$loss compare 1 --type bf16 triax pytorch
done

# A start that is too short for the steps; one that is made here is not.
compare 2 --batch 64 --seq 1024 --steps 16 pytorch
says log 'start has 1048576 tokens, and the steps take 1114113'
rm -r start
compare 0 --batch 64 --seq 1024 --steps 16 pytorch
says calls 'start.py start --tokens 1114113'
echo passed
