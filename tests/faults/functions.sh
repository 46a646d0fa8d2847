# Sourced by the scripts of this folder.

# Metrics of a run directory, without values that depend on the clock or the machine.
numbers() { sed -E 's/,"(tokens_per_second|step_seconds|peak_memory_bytes)":[^,]*//g; s/,"(bytes|messages)_sent".*//' "$1/metrics.jsonl"; }

# Creates a directory for this script, which the script removes, and changes into it. Relative paths of the program and
# the library still work there.
begin_work() {
  triax=$(realpath "$triax") library=${library:+$(realpath "$library")}
  work=$(mktemp -d) && cd "$work" || exit 1
  export OMP_NUM_THREADS=1
}

# The same for a script that fails or holds calls through fail_nth.cpp (held until the file gate exists). Also makes a
# text.
begin_held_work() {  # TRIAX MPIEXEC FLAG LIBRARY
  triax=$1 mpiexec=$2 flag=$3 library=$4 launcher=
  begin_work
  trap 'touch gate; wait; rm -rf "$work"' EXIT
  export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
  make_text 300
}

# Writes the file text with a number of lines.
make_text() { for i in $(seq "$1"); do echo "line $i of a text to train on"; done > text; }

# Writes job.json: a GPT in float32 with AdamW, trained on the file text. `sections` is JSON for further sections, each
# followed by a comma.
make_job() {  # layers heads width length global-batch sections
  cat > job.json << JOB
{"model": {"architecture": "gpt2", "n_layer": $1, "n_head": $2, "n_embd": $3, "n_positions": $4, "vocab_size": 256},
 $6
 "train_batch_size": $5, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}}
JOB
}

wait_for() {  # what command...
  local what=$1
  shift
  for _ in $(seq 600); do "$@" && return; sleep 0.05; done
  die "waited too long for: $what"
}

# Processes of the script's program in its directory.
ranks() {
  for p in /proc/[0-9]*; do
    [ "$(readlink "$p/exe")" = "$(readlink -f "$triax")" ] && [ "$(readlink "$p/cwd")" = "$work" ] && echo "${p#/proc/}"
  done 2> /dev/null
}

# Process of a rank, by the launcher's number.
process_of() {
  for p in $(ranks); do
    tr '\0' '\n' < "/proc/$p/environ" 2> /dev/null | grep -qx "PMI_RANK=$1" && echo "$p"
  done
}
