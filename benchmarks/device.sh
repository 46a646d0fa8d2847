#!/bin/bash
# All that wants a GPU, on a machine that is lent for minutes and has neither MPI nor HDF5: the tests of the kernels and
# of training on the device, compute-sanitizer, the benchmarks, and the peer. In the order of what is worth most, each
# part by itself: one that fails or runs out of time leaves the others, and its log says why.
#
#   benchmarks/device.sh bundle [DIR]          # here: builds for the GPU and packs programs and libraries (default: .device)
#   DIR/device.sh OUT [PART...]                # there: writes OUT/lines.jsonl, OUT/log and OUT/summary
#   build/benchmarks/summarize OUT/lines.jsonl # here, of what came back
#
# Parts: facts (names, driver, clocks), tests (kernels, and training on the device, one rank and several that share it),
#   bench (kernels against copy bandwidth and matrix rate), step (GPT-2 124M and 1.5B, Llama 1B, layers of Llama 8B; time
#   by kernel), peers (124M in turns with PyTorch), memcheck, racecheck. All of them in this order without one; about 20
#   minutes, so two calls of 10: `OUT facts tests bench step`, then `OUT peers memcheck racecheck`.
# bundle needs the CUDA toolkit and what triax builds with. Variables: ARCHITECTURES (90a-real: H100 and H200; 100: B200),
#   BUILD (build-device), JOBS (2). It packs what its programs link to but for the C library and CUDA, which the other
#   machine has: in its toolkit, or in Python's wheels (NVIDIA_LIBS names the folders where it is elsewhere). What is packed
#   is small enough (some 40 MiB, stripped) for a checkout that travels: add DIR to .git/info/exclude.
# Variables there: LIMIT (seconds of a part at most; default 240), PYTHON (python3, with PyTorch for peers),
#   PEAK_FLOPS (the maker's bf16 rate, for mfu; default: by the GPU's name), SANITIZED (tests under compute-sanitizer, a
#   GoogleTest filter; default: all but the longest).

set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

# ---- here

tests=(test_base test_kernels test_launch_shape test_state_device test_staged_device test_device)
benches=(bench_elementwise bench_attention bench_matmul)

# Files that a program loads, but for those of the C library and of CUDA.
libraries_of() { # FILE...
  ldd "$@" | awk '/=> \// { print $3 }' | sort -u |
    grep -vE '/(ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libcuda|libcudart|libcublas|libcublasLt|libnccl)[-.]'
}

bundle() { # DIR
  set -e
  local root dir=$1 build=${BUILD:-build-device} file
  root=$(cd "$here/.." && pwd)
  cd "$root"
  cmake -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTRIAX_CUDA=ON \
    -DTRIAX_CUDA_ARCHITECTURES="${ARCHITECTURES:-90a-real}"
  cmake --build "$build" --parallel "${JOBS:-2}" --target "${tests[@]}" "${benches[@]}" step triax
  rm -rf "$dir"
  mkdir -p "$dir/bin" "$dir/lib" "$dir/peers"
  for file in "${tests[@]}" "${benches[@]}" step triax; do
    strip -o "$dir/bin/$file" "$(find "$build" -name "$file" -type f -perm -u+x | head -n 1)"
  done
  # MPICH's launcher and its helper, for ranks that share the GPU.
  for file in mpiexec.hydra hydra_pmi_proxy; do
    ! command -v "$file" >/dev/null || strip -o "$dir/bin/$file" "$(command -v "$file")"
  done
  libraries_of "$dir"/bin/* | while read -r file; do strip -o "$dir/lib/$(basename "$file")" "$(readlink -f "$file")"; done
  cp benchmarks/peers/*.py benchmarks/peers/compare.sh "$dir/peers"
  cp -r tests/golden "$dir/golden"
  rm -f "$dir"/golden/*.py
  echo "$root" >"$dir/source"  # where the tests look for their files
  git describe --always --dirty >"$dir/commit" 2>/dev/null || echo unknown >"$dir/commit"
  cp "${BASH_SOURCE[0]}" "$dir/device.sh"
  chmod +x "$dir/device.sh"
  echo "packed into $dir: $(du -sh "$dir" | cut -f1) for $(cat "$dir/commit")"
}

# ---- there

# The folders of CUDA's libraries: a toolkit's, and those of Python's wheels.
cuda_libraries() {
  if [[ -n ${NVIDIA_LIBS-} ]]; then
    echo "$NVIDIA_LIBS"
    return
  fi
  {
    ls -d /usr/local/cuda/lib64 2>/dev/null
    "$python" - <<'PY' 2>/dev/null
import pathlib, site, sys
for folder in {*site.getsitepackages(), *sys.path}:
    for found in sorted(pathlib.Path(folder or ".").glob("nvidia/*/lib")):
        print(found)
PY
  } | paste -sd:
}

say() { echo "$(date +%H:%M:%S) $*" | tee -a "$out/summary"; }

# Runs a command for $limit seconds at most; its JSON lines go to lines.jsonl, everything to log.
try() { # NAME COMMAND...
  local name=$1 begin=$SECONDS status=0
  shift
  echo "=== $name: $*" >>"$out/log"
  timeout --kill-after=10 "$limit" "$@" >"$out/last" 2>&1 || status=$?
  cat "$out/last" >>"$out/log"
  grep '^{"benchmark"' "$out/last" >>"$out/lines.jsonl" || true
  say "$(printf '%-34s %s, %s s' "$name" "$([[ $status -eq 0 ]] && echo passed || echo "FAILED ($status)")" $((SECONDS - begin)))"
  [[ $status -eq 0 ]] || failed=1
}

facts() {
  try nvidia-smi nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem --format=csv
  try "commit $(cat "$here/commit")" true
}

tests_on_device() {
  export OMP_NUM_THREADS=1
  try test_base "$here/bin/test_base"
  try test_launch_shape "$here/bin/test_launch_shape"
  TRIAX_TEST_SPACE=device try test_kernels.device "$here/bin/test_kernels"
  try test_state_device "$here/bin/test_state_device"
  try test_staged_device "$here/bin/test_staged_device"
  try test_device.np1 "$here/bin/test_device"
  if [[ -x $here/bin/mpiexec.hydra ]]; then
    for ranks in 2 4; do
      try "test_staged_device.np$ranks" "$here/bin/mpiexec.hydra" -n "$ranks" "$here/bin/test_staged_device"
      try "test_device.np$ranks" "$here/bin/mpiexec.hydra" -n "$ranks" "$here/bin/test_device"
    done
  fi
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

steps() {
  step "124M" --model gpt2-124m --batch 32 --seq 1024
  # Named as compare.sh names it, so that it is no run of the line above.
  step "124M, float32 gradients" --model gpt2-124m --batch 32 --seq 1024 --gradients f32 --program triax-f32-gradients
  step "1.5B" --model gpt2-1.5b --batch 8 --seq 1024
  step "Llama 1B" --model llama-1b --batch 8 --seq 2048
  step "Llama 8B, 24 of 32 layers" --model llama-8b --layers 24 --batch 2 --seq 4096
}

peers() {
  local start=$out/start
  # In turns, from one start; both with the largest batch of these that is common.
  for batch in 8 32; do
    limit=$((3 * limit)) try "peers B=$batch" env PYTHON="$python" BENCHMARKS="$here/bin" \
      "$here/peers/compare.sh" --device gpu --start "$start" \
      --batch "$batch" --seq 1024 --type bf16 --steps 10 --rounds 3 triax triax-f32-gradients pytorch-compile pytorch
  done
  rm -rf "$start"
}

sanitize() { # TOOL
  local checker
  checker=$(command -v compute-sanitizer || find /usr/local/cuda*/bin /usr/local/cuda*/compute-sanitizer /opt/nvidia -name compute-sanitizer -type f 2>/dev/null | head -n 1)
  if [[ -z $checker ]]; then
    say "$1: no compute-sanitizer here"
    failed=1
    return
  fi
  TRIAX_TEST_SPACE=device limit=$((2 * limit)) try "$1" "$checker" --tool "$1" --error-exitcode 1 \
    "$here/bin/test_kernels" --gtest_filter="${SANITIZED:--*Long*:*Large*}"
}

run() { # OUT PART...
  out=$1
  shift
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  python=${PYTHON:-python3} limit=${LIMIT:-240} failed=0
  LD_LIBRARY_PATH="$here/lib:$(cuda_libraries)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  export LD_LIBRARY_PATH
  local source gpu
  source=$(cat "$here/source")
  if [[ ! -e $source/tests/golden ]]; then
    mkdir -p "$source/tests" && ln -s "$here/golden" "$source/tests/golden"
  fi
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
  if [[ -z $gpu ]]; then
    echo "device.sh: nvidia-smi shows no GPU here" >&2
    exit 2
  fi
  local rate=${PEAK_FLOPS-}
  case "$rate,$gpu" in # dense bf16, as NVIDIA's data sheets have it: the first that fits
    ,*H100*NVL* | ,*H200*NVL*) rate=835.5e12 ;;
    ,*H200* | ,*H100*HBM3* | ,*H100*SXM*) rate=989.4e12 ;;
    ,*A100*) rate=312e12 ;;
    ,*GB200*) rate=2500e12 ;;
    ,*B200*) rate=2250e12 ;;
  esac
  peak=(${rate:+--peak-flops "$rate"})
  [[ $# -gt 0 ]] || set -- facts tests bench step peers memcheck racecheck
  for part in "$@"; do
    case $part in
      facts) facts ;;
      tests) tests_on_device ;;
      bench) bench ;;
      step) steps ;;
      peers) peers ;;
      memcheck | racecheck) sanitize "$part" ;;
      *) usage ;;
    esac
  done
  rm -f "$out/last"
  say "lines: $(wc -l <"$out/lines.jsonl" 2>/dev/null || echo 0); failed parts: $failed"
  exit "$failed"
}

case ${1-} in
  bundle) bundle "${2:-.device}" ;;
  "" | -*) usage ;;
  *)
    [[ -x $here/bin/step ]] || {
      echo "device.sh: no programs beside it: first benchmarks/device.sh bundle, where they are built" >&2
      exit 2
    }
    run "$@"
    ;;
esac
