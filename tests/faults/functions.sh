# Sourced by the scripts beside it.

# The metrics of a run's directory, without what depends on the clock or the machine.
numbers() { sed -E 's/,"(tokens_per_second|step_seconds|peak_memory_bytes)":[^,]*//g; s/,"(bytes|messages)_sent".*//' "$1/metrics.jsonl"; }

# A directory for this script alone, and into it. Removing it is the script's. The program and the library that it was
# given are found from there too.
begin_work() {
  triax=$(realpath "$triax") library=${library:+$(realpath "$library")}
  work=$(mktemp -d) && cd "$work" || exit 1
  export OMP_NUM_THREADS=1
}

# The same for a script whose calls fail_nth.cpp fails or holds, until there is a file gate; with its arguments, and a text.
begin_held_work() {  # TRIAX MPIEXEC FLAG LIBRARY
  triax=$1 mpiexec=$2 flag=$3 library=$4 launcher=
  begin_work
  trap 'touch gate; wait; rm -rf "$work"' EXIT
  export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
  make_text 300
}

# The file text, of so many lines.
make_text() { for i in $(seq "$1"); do echo "line $i of a text to train on"; done > text; }

# job.json: a GPT of so many layers and heads, of such a width and sequence length, in float32 with AdamW on the file
# text. The sections are JSON behind the others, each with a comma at its end.
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

# The process of a rank, by the number that the launcher gave it.
process_of() {
  for p in $(ranks); do
    tr '\0' '\n' < "/proc/$p/environ" 2> /dev/null | grep -qx "PMI_RANK=$1" && echo "$p"
  done
}
