#!/usr/bin/env bash
# Usage: test_install.sh BUILD MPIEXEC...
# That what `cmake --install` puts into a folder of its own runs from there: the program trains, and the job scripts find it.
set -euo pipefail
build=$1
shift
launch=("$(command -v "$1")" "${@:2}")
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"

cmake --install "$build" --prefix "$work/prefix" >installed || fail "cmake --install: $(cat installed)"
shared=$work/prefix/share/triax/jobs
for name in train.sbatch array-sweep.sbatch benchmark.sbatch inspect.sbatch chain.sh slurm.sh messages.sh requeue.sh loss_curve.awk README.md examples/quickstart.json \
  guides/README.md guides/faults.md ../LICENSE; do
  [[ -f $shared/$name ]] || fail "$name is not installed"
done
for name in quickstart.sh test.sh setup.sh; do
  [[ ! -e $shared/$name ]] || fail "$name needs a checkout, and is installed"
done
[[ -x $shared/chain.sh ]] || fail "chain.sh is not executable"
(umask 022; cmake --install "$build" --prefix "$work/readable" >/dev/null)
unreadable=$(find readable ! -perm -o=r)
[[ -z $unreadable ]] || fail "others cannot read $unreadable"
bash "$shared/train.sbatch" --help | grep -q '^Trains' || fail "the help of the installed script"

for i in $(seq 2000); do echo "line $i of a text to train on"; done >text
mkdir bin
printf '#!/bin/sh\nexit 1\n' >bin/squeue
cat >bin/mpiexec <<STUB
#!/usr/bin/env bash
[[ \$1 == -n ]] || exit 9
shift
exec ${launch[@]@Q} "\$@"
STUB
chmod +x bin/*
PATH=$work/bin:$PATH LAUNCHER=mpiexec SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_JOB_NODELIST=here \
  bash "$shared/train.sbatch" "$shared/examples/quickstart.json" --set data.train=text --set data.valid=text \
  --set run.steps=2 --set run.directory=run >log 2>&1 || fail "the installed script: $(cat log)"
[[ $(grep -c '"loss"' run/metrics.jsonl) -eq 2 ]] || fail "2 steps have 2 lines in metrics.jsonl"
echo passed
