#!/usr/bin/env bash
# From a fresh machine to a trained model: installs, builds the preset quickstart (triax alone, for this machine's
# processor), trains a byte-level GPT with 4 MPI ranks, and shows its loss and a sample.
set -euo pipefail
readonly start=$PWD
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
. jobs/build.sh

usage() {
  cat <<'END'
Usage: jobs/quickstart.sh [TEXT_FILE]
Installs what is missing (jobs/setup.sh), builds triax, and trains the model of jobs/examples/quickstart.json
on 4 MPI ranks (tensor 2 x pipeline 2): on TEXT_FILE, or on this checkout's own sources and documents.
Takes less than ten minutes on 2 cores with nothing installed. The run is left in runs/quickstart, the program in
build-quickstart.
END
}

readonly run=runs/quickstart
readonly metrics=$run/metrics.jsonl

fail() {
  echo "quickstart: $*" >&2
  exit 1
}

# Locks the run's directory until this script and its children end: two quickstarts at once would write to one run.
hold_run() {
  mkdir -p "$run"
  exec {held}>>"$run/.quickstart"
  flock --nonblock "$held" || fail "another quickstart is running in $PWD. Wait for it, or stop it."
  [[ ! -e $run/.lock ]] || flock --nonblock "$run/.lock" true || fail "a run works in $PWD/$run. Wait for it, or stop it."
}

# The checkout's sources and documents, one after another, in the order of their names.
own_text() {
  local -a names=(-name '*.md' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.txt' -o -name '*.cmake' -o -name '*.sh')
  find CMakeLists.txt README.md benchmarks io jobs kernels src tests -type f \( "${names[@]}" \) -print0 |
    LC_ALL=C sort -z | xargs -0 cat
}

# Splits the text $1 into $run/train.txt and the last 5% of it, $run/valid.txt.
split_text() {
  local bytes
  bytes=$(wc -c <"$1")
  [[ $bytes -ge 20000 ]] || fail "$1 has $bytes bytes (a model cannot learn from less than 20000). Give a longer text."
  head -c $((bytes - bytes / 20)) "$1" >"$run/train.txt.new"  # $1 may be one of the two
  tail -c $((bytes / 20)) "$1" >"$run/valid.txt.new"
  mv "$run/train.txt.new" "$run/train.txt"
  mv "$run/valid.txt.new" "$run/valid.txt"
  echo "quickstart: training on $((bytes - bytes / 20)) bytes of text, validating on $((bytes / 20))"
}

train() {
  mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build_folder/CMakeCache.txt")
  rm -rf "$metrics" "$run/checkpoints"
  local begin=$SECONDS
  "$mpiexec" -n 4 "$build_folder/src/triax" train jobs/examples/quickstart.json \
    --set data.train="$run/train.txt" --set data.valid="$run/valid.txt" --set run.directory="$run"
  echo "quickstart: trained in $((SECONDS - begin)) s"
}

# The mean loss of the last ten steps must be below 60% of the first step's.
check_loss() {
  LC_ALL=C awk -F'"loss":' '
    NF > 1 { loss[n++] = $2 + 0 }
    END {
      if (n < 10) exit 1
      for (i = n - 10; i < n; ++i) last += loss[i] / 10
      printf "loss %.3f -> %.3f (%.0f%% of its start)\n", loss[0], last, 100 * last / loss[0]
      exit !(last < 0.6 * loss[0])
    }' n=0 "$metrics" || fail "the loss did not fall below 60% of its start. See $metrics"
}

# Continues the first line of the held-out text that is long enough.
sample() {
  local prompt
  prompt=$(awk 'NR > 1 && /^[^ \t]/ && length($0) >= 20 { print substr($0, 1, 60); exit }' "$run/valid.txt")
  "$build_folder/src/triax" generate "$1" --prompt="${prompt:-The }" --max-tokens 400 --temperature 0.8 --top-k 40
}

main() {
  case ${1:-} in
    -h | --help) usage; return ;;
  esac
  [[ $# -le 1 ]] || fail "one text file at most (see --help)"
  local text=${1:-}
  [[ -z $text || $text == /* ]] || text=$start/$text
  [[ -z $text || -r $text ]] || fail "cannot read $text"
  [[ -z $text || -f $text ]] || fail "$text is not a file (the text is read more than once). Write it to a file"

  hold_run
  jobs/setup.sh
  build_preset quickstart triax
  if [[ -z $text ]]; then
    text=$run/text.txt
    own_text >"$text"
  fi
  split_text "$text"
  train

  # Show the plain name if it is the same command.
  if [[ $(readlink -f "$(command -v mpiexec)") == "$(readlink -f "$mpiexec")" ]]; then mpiexec=mpiexec; fi
  local -a checkpoints=("$run"/checkpoints/step-*.h5)
  local checkpoint=${checkpoints[-1]} steps
  steps=$(sed -n 's/.*"steps": \([0-9]*\).*/\1/p' jobs/examples/quickstart.json)
  echo
  awk -f jobs/loss_curve.awk "$metrics"
  echo
  check_loss
  printf '\nA sample of what it writes:\n\n'
  sample "$checkpoint"
  local report
  report=$("$build_folder/src/triax" report "$run") || fail "no report of $run"
  cat <<END

program:    $build_folder/src/triax (export PATH=\$PWD/$build_folder/src:\$PATH)
job:        jobs/examples/quickstart.json
metrics:    $metrics
checkpoint: $checkpoint
report:     $report (the curves and the run as a page; open it in a browser)

To try next:
  triax generate $checkpoint --prompt "#include <" --temperature 0.8
  triax train jobs/examples/quickstart.json --set data.train=$run/train.txt --set data.valid=$run/valid.txt --dry-run
  $mpiexec -n 2 triax train jobs/examples/quickstart.json --set data.train=$run/train.txt --set data.valid=$run/valid.txt \\
    --set parallel.pipeline=1 --set run.steps=$((steps + 100))     # the same run continues on another grid
END
}

main "$@"
