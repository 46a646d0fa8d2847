#!/bin/bash
# Runs everything that needs a GPU, on a machine that is lent for minutes and has neither MPI nor HDF5: the tests of the
# kernels and of training, the benchmarks, the peer, compute-sanitizer. Parts run in order of importance, each with a
# time limit. A part that fails or runs out of time does not stop the others, and the log says why.
#
#   benchmarks/device.sh bundle [DIR]          # here: builds for the GPU, packs programs and libraries (default: .device)
#   DIR/device.sh OUT [PART...]                # there: unpacks, writes OUT/lines.jsonl, OUT/log and OUT/summary
#   build/benchmarks/summarize OUT/lines.jsonl # here, on what came back
#
# Parts, in this order by default:
#   facts      name, driver, clocks
#   tests      kernels against their oracles, and training against golden runs: 1 rank, 2 and 4 ranks that share the GPU
#   step       GPT-2 124M and 1.5B, Llama 1B, layers of Llama 8B; the time of each kernel
#   peers      124M and 1.5B in turns with PyTorch
#   own        tests and steps again with our own attention (TRIAX_CUDNN=off)
#   bench      kernels against copy bandwidth and matrix rate
#   memcheck racecheck   compute-sanitizer on the kernels and on three steps of training
# If tests and peers are both requested, the peers' weights are made and PyTorch compiles while the tests run.
#
# bundle needs the CUDA toolkit and everything that triax builds with. Variables: ARCHITECTURES (90a-real: H100 and
# H200; 100: B200), BUILD (build-device), JOBS (2). It packs the libraries that its programs link to, except the C
# library and CUDA, which the other machine has in its toolkit or in Python's wheels (set NVIDIA_LIBS to the folders if
# they are elsewhere). DIR then holds this script and one archive. An archive over 60 MiB is refused, because it travels
# in a checkout: add DIR to .git/info/exclude.
# Variables on the other machine: BUDGET (seconds of the whole call; default 420), LIMIT (seconds of one program;
# default 120), PYTHON (python3, with PyTorch for peers), PEAK_FLOPS (the maker's bf16 rate, for mfu; default by the
# GPU's name), UNPACKED (where to unpack; default a folder in TMPDIR), SANITIZED (tests under compute-sanitizer, a
# GoogleTest filter), ROUNDS (of peers; default 1).
# To rehearse, run it in an empty root: every program starts and reports that there is no GPU.

set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

# ---- on this machine

tests=(test_base test_kernels test_launch_shape test_state_device test_staged_device test_training_device test_device)
benches=(bench_elementwise bench_attention bench_matmul)
largest_archive=$((60 << 20))

# Files that a program loads, except those of the C library and of CUDA.
libraries_of() { # FILE...
  ldd "$@" | awk '/=> \// { print $3 }' | sort -u |
    grep -vE '/(ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libcuda|libcudart|libcublas|libcublasLt|libnccl)[-.]'
}

# Programs find their libraries relative to themselves. LD_LIBRARY_PATH would also affect Python.
build() { # FOLDER
  cmake -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTRIAX_CUDA=ON -DTRIAX_CUDNN=ON \
    -DTRIAX_CUDA_ARCHITECTURES="${ARCHITECTURES:-90a-real}" \
    -DCMAKE_BUILD_RPATH="\$ORIGIN/../lib;\$ORIGIN/../cuda" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
  cmake --build "$1" --parallel "${JOBS:-2}" --target "${tests[@]}" "${benches[@]}" step triax
}

# Makes one archive. Programs share most of their code, which xz finds in a window as large as they are.
pack() { # FOLDER DIR
  local size
  mkdir -p "$2"
  tar -C "$1" --owner=0 --group=0 --sort=name -c . | xz -6 --lzma2=preset=6,dict=256MiB -T1 >"$2/bundle.tar.xz"
  size=$(stat -c %s "$2/bundle.tar.xz")
  if ((size > largest_archive)); then
    rm -f "$2/bundle.tar.xz"
    echo "device.sh: the archive has $((size >> 20)) MiB, and at most $((largest_archive >> 20)) MiB travel: build for one GPU (ARCHITECTURES)" >&2
    return 1
  fi
  echo "packed into $2: $((size >> 20)) MiB of $(du -sm "$1" | cut -f1) MiB, for $(cat "$1/commit")"
}

bundle() { # DIR
  set -e
  local root dir=$1 build=${BUILD:-build-device} file
  root=$(cd "$here/.." && pwd)
  cd "$root"
  build "$build"
  packed=$(mktemp -d)  # for the trap, which outlives this function
  trap 'rm -rf "$packed"' EXIT
  mkdir -p "$packed/bin" "$packed/lib" "$packed/peers"
  for file in "${tests[@]}" "${benches[@]}" step triax; do
    strip -o "$packed/bin/$file" "$(find "$build" -name "$file" -type f -perm -u+x | head -n 1)"
  done
  # MPICH's launcher and its helper, for ranks that share the GPU.
  for file in mpiexec.hydra hydra_pmi_proxy; do
    ! command -v "$file" >/dev/null || strip -o "$packed/bin/$file" "$(command -v "$file")"
  done
  libraries_of "$packed"/bin/* | while read -r file; do strip -o "$packed/lib/$(basename "$file")" "$(readlink -f "$file")"; done
  cp benchmarks/peers/*.py benchmarks/peers/compare.sh "$packed/peers"
  cp -r tests/golden "$packed/golden"
  rm -f "$packed"/golden/*.py
  echo "$root" >"$packed/source"  # where the tests look for their files
  git describe --always --dirty >"$packed/commit" 2>/dev/null || echo unknown >"$packed/commit"
  pack "$packed" "$dir"
  cp "${BASH_SOURCE[0]}" "$dir/device.sh"
  chmod +x "$dir/device.sh"
}

# ---- on the other machine

unpack() {
  [[ ! -e $here/bin/step ]] || return 0  # unpacked already
  local into=${UNPACKED:-${TMPDIR:-/tmp}/triax-device}
  [[ -e $here/bundle.tar.xz ]] || {
    echo "device.sh: no bundle.tar.xz beside it: first benchmarks/device.sh bundle, where triax is built" >&2
    exit 2
  }
  mkdir -p "$into"
  tar -C "$into" -xJf "$here/bundle.tar.xz" || {
    echo "device.sh: $here/bundle.tar.xz does not unpack into $into (see above): copy it again" >&2
    exit 2
  }
  here=$into
}

# Folders that may hold CUDA's libraries: a toolkit's, and those of Python's wheels.
cuda_folders() {
  if [[ -n ${NVIDIA_LIBS-} ]]; then
    tr ':' '\n' <<<"$NVIDIA_LIBS"
    return
  fi
  ls -d /usr/local/cuda/lib64 2>/dev/null
  "$python" - <<'PY' 2>/dev/null
import pathlib, site, sys
for folder in {*site.getsitepackages(), *sys.path}:
    for found in sorted(pathlib.Path(folder or ".").glob("nvidia/*/lib")):
        print(found)
PY
}

# Makes one folder of links to them, where the programs look.
link_libraries() {
  local folder file
  rm -rf "$here/cuda"
  mkdir -p "$here/cuda"
  cuda_folders | while read -r folder; do
    for file in "$folder"/lib{cudart,cublas,cublasLt,cudnn,cudnn_adv,cudnn_cnn,cudnn_engines_precompiled,cudnn_engines_runtime_compiled,cudnn_graph,cudnn_heuristic,cudnn_ops,nccl,nvrtc,nvrtc-builtins,nvJitLink}.so*; do
      [[ ! -e $file || -e $here/cuda/$(basename "$file") ]] || ln -s "$file" "$here/cuda"
    done
  done
}

say() { echo "$(date +%H:%M:%S) $*" | tee -a "$out/summary"; }

left() { echo $((budget - SECONDS)); }

# Runs a command for $limit seconds at most, and within the budget. Its JSON lines go to lines.jsonl, its other output
# to log (only the end if it passed).
try() { # NAME COMMAND...
  local name=$1 begin=$SECONDS status=0 seconds=$limit printed word
  shift
  if (($(left) < 5)); then
    say "$(printf '%-40s left out: the budget of %s s is spent' "$name" "$budget")"
    return
  fi
  ((seconds <= $(left))) || seconds=$(left)
  printed=$(mktemp "$scratch/XXXXXX")
  timeout --kill-after=5 "$seconds" "$@" >"$printed" 2>&1 || status=$?
  case $status in
    0) word=passed ;;
    124 | 137) word="CUT OFF at $seconds s" ;;
    *) word="FAILED ($status)" ;;
  esac
  if [[ $status -eq 0 ]] && grep -q 'skipped: no CUDA device' "$printed"; then status=1 word='SKIPPED: no CUDA device'; fi
  [[ $status -eq 0 ]] || touch "$scratch/failed"
  {
    flock 9
    echo "=== $name: $word: $*" >>"$out/log"
    if [[ $status -eq 0 ]]; then grep -v '^{"benchmark"' "$printed" | tail -n 4 >>"$out/log"; else tail -c 500000 "$printed" >>"$out/log"; fi
    grep '^{"benchmark"' "$printed" >>"$out/lines.jsonl"
    say "$(printf '%-40s %s, %s s' "$name" "$word" $((SECONDS - begin)))"
  } 9>"$scratch/lock"
}

facts() {
  try nvidia-smi nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem --format=csv
  say "$gpu, commit $(cat "$here/commit")"
}

# Runs a program's cases in several processes at once.
shards() { # COUNT NAME COMMAND...
  local shard count=$1 name=$2
  shift 2
  for ((shard = 0; shard < count; ++shard)); do
    GTEST_TOTAL_SHARDS=$count GTEST_SHARD_INDEX=$shard TRIAX_TEST_SPACE=device try "$name $((shard + 1))/$count" "$@" &
  done
}

# All tests at once, because nothing here is timed, except those that look at free memory.
tests_on_device() {
  local name ranks
  shards $((($(getconf _NPROCESSORS_ONLN) * 3 + 3) / 4)) test_kernels.device "$here/bin/test_kernels"
  for name in test_base test_launch_shape test_state_device test_staged_device test_training_device; do try "$name" "$here/bin/$name" & done
  try test_device "$here/bin/test_device" --gtest_filter=-DeviceMemory.* &
  for ranks in 2 4; do
    try "test_staged_device.np$ranks" "${mpiexec[@]}" -n "$ranks" "$here/bin/test_staged_device" &
    try "test_device.np$ranks" "${mpiexec[@]}" -n "$ranks" "$here/bin/test_device" --gtest_filter=-DeviceMemory.* &
  done
  wait
  try "test_device, memory" "$here/bin/test_device" --gtest_filter=DeviceMemory.*
  for ranks in 2 4; do
    try "test_device.np$ranks, memory" "${mpiexec[@]}" -n "$ranks" "$here/bin/test_device" --gtest_filter=DeviceMemory.*
  done
}

bench() {
  local name
  for name in "${benches[@]}"; do try "$name" "$here/bin/$name" device; done
}

step() { # NAME OPTION...
  local name=$1
  shift
  try "step $name" "$here/bin/step" --device gpu --type bf16 --kernels --steps 12 "${peak[@]}" "$@"
}

steps() { # OPTION...
  step "Llama 1B $*" --model llama-1b --batch 8 --seq 2048 "$@"
  step "Llama 8B, 8 of 32 layers $*" --model llama-8b --layers 8 --batch 2 --seq 4096 "$@"
  step "1.5B $*" --model gpt2-1.5b --batch 8 --seq 1024 "$@"
  step "124M $*" --model gpt2-124m --batch 32 --seq 1024 "$@"
  [[ $# -gt 0 ]] || step "124M, float32 gradients" --model gpt2-124m --batch 32 --seq 1024 --gradients f32 --program triax-f32-gradients
}

with_own_attention() {
  (
    export TRIAX_CUDNN=off
    shards 2 "test_kernels.device, own attention" "$here/bin/test_kernels" --gtest_filter='*ttention*'
    try "test_device, own attention" "$here/bin/test_device" --gtest_filter=-DeviceMemory.* &
    wait
    steps --program triax-own-attention
  )
}

# Fills PyTorch's cache of compiled code, and makes a start for 124M.
prepare_peers() {
  {
    try "start of 124M" "$python" "$here/peers/start.py" "$scratch/gpt2-124m" --tokens 1200000
    try "PyTorch compiles 124M" "$python" "$here/peers/pytorch_step.py" "$scratch/gpt2-124m" --batch 32 --seq 1024 \
      --dtype bf16 --device cuda --compile --steps 1
  } &
  try "PyTorch compiles 1.5B" "$python" "$here/peers/pytorch_step.py" --model gpt2-1.5b --batch 8 --seq 1024 \
    --dtype bf16 --device cuda --compile blocks --steps 1 &
  wait
}

# Peers in turns: 124M from one start, 1.5B with random weights.
peers() {
  [[ -e $scratch/gpt2-124m/config.json ]] || prepare_peers
  compare "peers 124M B=32" --start "$scratch/gpt2-124m" --batch 32 triax triax-keep-outputs pytorch-compile
  compare "peers 1.5B B=8" --model gpt2-1.5b --batch 8 triax triax-keep-outputs pytorch-compile-blocks
}
compare() { # NAME ARGUMENT...
  local name=$1
  shift
  try "$name" env PYTHON="$python" BENCHMARKS="$here/bin" "$here/peers/compare.sh" --device gpu --seq 1024 --type bf16 \
    --steps 20 --rounds "${ROUNDS:-1}" "$@"
}

sanitize() { # TOOL
  local tool=$1 path
  path=$(command -v compute-sanitizer || find /usr/local/cuda*/bin /usr/local/cuda*/compute-sanitizer /opt/nvidia -name compute-sanitizer -type f 2>/dev/null | head -n 1)
  if [[ -z $path ]]; then
    say "$tool: no compute-sanitizer here"
    touch "$scratch/failed"
    return
  fi
  local -a checker=("$path" --tool "$tool")
  if [[ $tool == racecheck ]]; then
    # It does not know the barriers that order the stages of cuBLASLt's and cuDNN's kernels, and reports them. With a
    # filter for our kernels' names it ends with an error of its own (2025.3), so what it prints is looked through.
    checker=(bash -c 'set -o pipefail; "$@" 2>&1 | awk "{ print } /Race reported.*run_body/ { ours = 1 } END { exit ours }"' races "${checker[@]}")
  else
    checker+=(--error-exitcode 1)
  fi
  shards $(($(getconf _NPROCESSORS_ONLN) - 2)) "$tool" "${checker[@]}" "$here/bin/test_kernels" --gtest_filter="${SANITIZED:--*Long*:*Large*}"
  try "$tool of training" "${checker[@]}" "$here/bin/step" --device gpu --type bf16 --model small --batch 2 --seq 128 --steps 3 &
  wait
}

# The maker's dense bf16 rate of a GPU (FLOP/s) by its name: the first pattern that fits.
maker_rate() { # NAME
  case $1 in
    *H100*NVL* | *H200*NVL*) echo 835.5e12 ;;
    *H200* | *H100*HBM3* | *H100*SXM*) echo 989.4e12 ;;
    *A100*) echo 312e12 ;;
    *GB200*) echo 2500e12 ;;
    *B200*) echo 2250e12 ;;
  esac
}

run() { # OUT PART...
  mkdir -p "$1"
  out=$(cd "$1" && pwd)
  shift
  unpack
  python=${PYTHON:-python3} limit=${LIMIT:-120} budget=${BUDGET:-420}
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
  if [[ -z $gpu ]]; then
    echo "device.sh: nvidia-smi shows no GPU here" >&2
    exit 2
  fi
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  link_libraries
  mpiexec=(env "LD_LIBRARY_PATH=$here/lib" "$here/bin/mpiexec.hydra")
  export OMP_NUM_THREADS=1
  local source rate part
  source=$(cat "$here/source")
  if [[ ! -e $source/tests/golden ]]; then
    mkdir -p "$source/tests" && ln -s "$here/golden" "$source/tests/golden"
  fi
  rate=${PEAK_FLOPS-$(maker_rate "$gpu")}
  peak=(${rate:+--peak-flops "$rate"})
  [[ $# -gt 0 ]] || set -- facts tests step peers own bench memcheck racecheck
  [[ " $* " != *" tests "* || " $* " != *" peers "* ]] || early=yes
  for part in "$@"; do
    case $part in
      facts) facts ;;
      tests)
        [[ -z ${early-} ]] || prepare_peers &
        tests_on_device
        ;;
      bench) bench ;;
      step) steps ;;
      own) with_own_attention ;;
      peers) peers ;;
      memcheck | racecheck) sanitize "$part" ;;
      *) usage ;;
    esac
  done
  say "lines: $(wc -l <"$out/lines.jsonl" 2>/dev/null || echo 0); $([[ -e $scratch/failed ]] && echo "something failed: see log" || echo "nothing failed")"
  [[ ! -e $scratch/failed ]]
  exit
}

case ${1-} in
  bundle) bundle "${2:-.device}" ;;
  "" | -*) usage ;;
  *) run "$@" ;;
esac
