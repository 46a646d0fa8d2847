#!/usr/bin/env bash
# What benchmarks/device.sh gives `step` where a GPU is: nvidia-smi and step are stubs.
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
