#!/usr/bin/env bash
# What benchmarks/device.sh does where a GPU is: how it unpacks, what it gives `step`, and what it says of programs that fail,
# find no GPU or have no time left. nvidia-smi and the programs are stubs.
# Usage: test_device_script.sh SOURCE
set -euo pipefail
source=$1
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"

mkdir -p packed/bin bin golden/tests/golden
cp "$source/benchmarks/device.sh" packed
echo "$work/golden" >packed/source
cat >packed/bin/step <<'STUB'
#!/usr/bin/env bash
echo "{\"benchmark\":\"step\",\"case\":\"$*\"}"
STUB
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$GPU"\n' >bin/nvidia-smi
chmod +x packed/bin/* bin/*

# peak GPU RATE: what its maker says of the GPU; nothing where it is not known.
peak() {
  rm -rf out
  GPU=$1 PYTHON=false PATH=$work/bin:$PATH packed/device.sh out step >log 2>&1 || fail "$1: $(cat log)"
  if [[ -n $2 ]]; then
    [[ $(grep -c -- " --peak-flops $2 " out/lines.jsonl) -eq $(wc -l <out/lines.jsonl) ]] || fail "$1: $(cat out/lines.jsonl)"
  elif grep -q -e --peak-flops out/lines.jsonl; then
    fail "$1 has a rate: $(cat out/lines.jsonl)"
  fi
}
peak 'NVIDIA H100 80GB HBM3' 989.4e12
peak 'NVIDIA H200' 989.4e12
peak 'NVIDIA H200 NVL' 835.5e12
peak 'NVIDIA H100 NVL' 835.5e12
peak 'NVIDIA A100-SXM4-80GB' 312e12
peak 'NVIDIA B200' 2250e12
peak 'NVIDIA GB200' 2500e12
peak 'NVIDIA H100 PCIe' ''
PEAK_FLOPS=1e12 peak 'NVIDIA B200' 1e12

# What is no run of the same case has a name of its own.
[[ $(sed 's/ --gradients f32//' out/lines.jsonl | sort -u | wc -l) -eq $(wc -l <out/lines.jsonl) ]] || fail "one name: $(cat out/lines.jsonl)"

# One archive, unpacked beside nothing else.
mkdir archived
cp packed/device.sh archived
tar -C packed -cJf archived/bundle.tar.xz bin source
run() { # PART: with the archive; its status in $status
  rm -rf out
  status=0
  GPU='NVIDIA H200' PYTHON=false UNPACKED=$work/unpacked PATH=$work/bin:$PATH archived/device.sh out "$1" >log 2>&1 || status=$?
}
run step
[[ $status -eq 0 && $(wc -l <out/lines.jsonl) -gt 3 ]] || fail "from an archive: $(cat log)"

# A test that finds no GPU has not passed, nor has one that fails; what there is no time for is said.
for program in test_kernels test_base test_launch_shape test_state_device test_staged_device test_training_device test_device mpiexec.hydra; do
  printf '#!/bin/sh\necho "skipped: no CUDA device"\n' >"unpacked/bin/$program"
  chmod +x "unpacked/bin/$program"
done
rm archived/bundle.tar.xz
tar -C unpacked -cJf archived/bundle.tar.xz bin source
run tests
[[ $status -eq 1 ]] && grep -q 'test_base  *SKIPPED: no CUDA device' out/summary || fail "no GPU for tests: $(cat log)"
BUDGET=0 run step
grep -q 'left out: the budget of 0 s is spent' out/summary || fail "no time: $(cat log)"
printf '#!/bin/sh\nexit 3\n' >unpacked/bin/step
tar -C unpacked -cJf archived/bundle.tar.xz bin source
run step
[[ $status -eq 1 ]] && grep -q 'FAILED (3)' out/summary || fail "a program that fails: $(cat log)"

# Half an archive.
head -c 100 archived/bundle.tar.xz >half && mv half archived/bundle.tar.xz
run step
[[ $status -eq 2 ]] && grep -q 'does not unpack' log || fail "half an archive: $(cat log)"
