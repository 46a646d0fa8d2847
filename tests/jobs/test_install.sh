#!/usr/bin/env bash
# Usage: test_install.sh BUILD MPIEXEC...
# That what `cmake --install` puts into a folder of its own runs from there: the program trains, the job scripts find it, and
# the man page, the bash completion and the modulefile are those of this program. Lmod and mandoc are tried where they are.
set -euo pipefail
build=$1
shift
launch=("$(command -v "$1")" "${@:2}")
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"

cmake --install "$build" --prefix "$work/prefix" >installed || fail "cmake --install: $(cat installed)"
shared=$work/prefix/share/triax/jobs
for name in train.sbatch array-sweep.sbatch benchmark.sbatch finetune.sbatch inspect.sbatch serve.sbatch batch.sbatch chain.sh slurm.sh messages.sh requeue.sh loss_curve.awk README.md examples/quickstart.json \
  guides/README.md guides/faults.md ../LICENSE; do
  [[ -f $shared/$name ]] || fail "$name is not installed"
done
for name in quickstart.sh test.sh setup.sh; do
  [[ ! -e $shared/$name ]] || fail "$name needs a checkout, and is installed"
done
[[ -x $shared/chain.sh ]] || fail "chain.sh is not executable"

# The man page has every command and option that --help has.
triax=$work/prefix/bin/triax page=$work/prefix/share/man/man1/triax.1
for command in '' train plan config evaluate generate serve batch checkpoint adapter tokenizer data report watch trace doctor 'data tokenize' 'data train-tokenizer' 'checkpoint list' 'checkpoint export' 'checkpoint import' 'checkpoint quantize' 'checkpoint average' 'checkpoint analyze' 'trace compare' 'adapter merge'; do
  # shellcheck disable=SC2086
  "$triax" $command --help | grep -oE -- '^ +(-h, *)?--[a-z-]+' | grep -oE -- '--[a-z-]+' >options
  sed 's/\\-/-/g' "$page" | sed -n "/^\\.S[SH] ${command:+triax }${command:-DESCRIPTION}\$/,/^\\.S[SH]/p" >section
  while read -r option; do
    [[ -n $command && $option == --help ]] || grep -qF -- "fB$option" section || fail "the man page has no $option of triax $command"
  done <options
  [[ -s options ]] || fail "triax $command --help shows no options"
done
if command -v mandoc >/dev/null; then mandoc -T lint "$page" || fail "mandoc finds fault with the man page"; fi

# completed WORD...: what the last word may become.
completed() {
  (
    compopt() { :; }
    . "$work/prefix/share/bash-completion/completions/triax"
    complete -p triax | grep -q -- '-F _triax triax' || fail "triax has no completion"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _triax
    echo "${COMPREPLY[*]-}"
  )
}
completes() {  # words, then what the last may become
  local expected=${*: -1} found
  found=$(completed "${@:1:$#-1}")
  [[ $found == "$expected" ]] || fail "${*:1:$#-1} completes to '$found' instead of '$expected'"
}
touch job.json text
mkdir folder
completes triax '' 'train plan config evaluate generate serve batch checkpoint adapter tokenizer data report watch trace doctor'
completes triax che checkpoint
completes triax checkpoint ver verify
completes triax train --dr --dry-run
completes triax checkpoint export x.h5 --dtype '' 'f32 bf16 f16'
completes triax checkpoint export x.h5 --dtype = b bf16
completes triax train --set run.eval_s run.eval_steps=
completes triax train --set run.device = 'auto cpu gpu'
completes triax train --set run.device = g gpu
completes triax train --set = run.device = g gpu
completes triax train --set data.train = te text
completes triax train j job.json
completes triax train t ''
completes triax train f folder
completes triax checkpoint list fo folder
completes triax checkpoint verify te text
completes triax generate --prompt t ''
completes triax train job.json j ''

# The modulefile is of this prefix, and of no other. Without MANPATH man finds the page beside PATH.
modules=$work/prefix/share/triax/modulefiles version=$("$triax" --version | sed -nE '1s/^triax ([0-9.]+),.*/\1/p')
grep -qF "[[$work/prefix]]" "$modules/triax/$version.lua" || fail "the modulefile has another prefix"
if command -v luac >/dev/null; then luac -p "$modules/triax/$version.lua" || fail "the modulefile is no Lua"; fi
lmod=$(compgen -G '/usr/share/lmod/lmod/init/bash' || echo "${LMOD_PKG:-/}/init/bash")
if [[ -f $lmod ]]; then
  (
    set +eu
    unset MANPATH XDG_DATA_DIRS TRIAX_JOBS
    LMOD_ALLOW_ROOT_USE=yes
    # shellcheck source=/dev/null
    . "$lmod"
    module use "$modules"
    module load triax || fail "module load triax"
    [[ $(command -v triax) == "$triax" ]] || fail "after module load triax is $(command -v triax)"
    [[ $TRIAX_JOBS == "$shared" ]] || fail "after module load TRIAX_JOBS is $TRIAX_JOBS"
    [[ $XDG_DATA_DIRS == "$work/prefix/share:/usr/local/share:/usr/share" ]] || fail "XDG_DATA_DIRS is $XDG_DATA_DIRS"
    triax --version | grep -q "^triax $version," || fail "triax --version after module load"
    module unload triax
    [[ $(command -v triax) != "$triax" && -z $TRIAX_JOBS ]] || fail "module unload leaves triax"
  ) || exit 1
else
  echo "skipped: the modulefile is not loaded, as Lmod is not installed"
fi
rm -r job.json folder text

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
