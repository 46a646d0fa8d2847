# shellcheck shell=bash
# shellcheck disable=SC2154
# Sourced by slurm.sh: training that Slurm runs again until it is done.

# train ARGUMENT...: triax train on all ranks, and again where it has not come to its end.
train() {
  local status=0 settings before
  need_gpu_code
  # Where the job is wrong the ranks say so, too.
  if ! settings=$(timeout -k 5 120 "$triax" config "$@" --ranks "${SLURM_NTASKS:-1}" --json 2>&1); then
    echo "$name: triax config says nothing of where the job writes, so that only RETRIES limits its failures: ${settings:-no answer}" >&2
    settings=
  fi
  before=$(last_line)
  launch "$triax" train "$@" || status=$?
  # mpiexec that was signalled may leave with 0 whatever its ranks said. A run that is done says so once more.
  if [[ $status == 0 && -n $forwarded && ${LAUNCHER:-srun} == mpiexec ]]; then status=75; fi
  case $status in
    0 | 2) forget_failures; exit "$status" ;;  # done, or wrong: again would change nothing
    75)
      echo "$name: job $job was stopped, to be run again"
      if [[ -z $(path_of run.directory) || $(last_line) != "$before" ]]; then
        forget_failures
      elif [[ ${REQUEUE:-yes} != no ]] && ! is_worth_a_try "$status" "$before"; then  # its start may take longer than it has
        end_job "$status" 3
      fi
      ;;
    *)
      echo "$name: job $job failed with status $status"
      if [[ ${REQUEUE:-yes} != no ]] && ! is_worth_a_try "$status" "$before"; then end_job "$status"; fi
      ;;
  esac
  run_again "$status"
}

# end_job STATUS [INSTEAD]: for good, with STATUS, or with INSTEAD where Slurm would run a job with that STATUS again.
end_job() {
  forget_failures
  if [[ $1 -eq 75 && -n ${2:-} ]] && requeues_stopped; then exit "$2"; fi
  exit "$1"
}

# Slurm does so whatever sbatch --no-requeue says.
requeues_stopped() { [[ ,$(slurm_setting RequeueExit), == *,75,* ]]; }

# path_of KEY: the value in $settings, in which JSON has \\ before some characters. As no option of a command.
path_of() {
  local path
  path=$(sed -n "/^ *\"key\": \"$1\"/{n;s/^ *\"value\": \"\(.*\)\",\$/\1/p}" <<<"$settings")
  printf -v path %b "${path//\\\"/\"}"
  [[ $path != -* ]] || path=./$path
  printf '%s' "$path"
}

last_line() { tail -n 1 "$(path_of run.directory)/metrics.jsonl" 2>/dev/null || true; }

newest_checkpoint() {
  find "$(path_of checkpoint.directory)" -maxdepth 1 -name 'step-*.h5' -printf '%f\n' 2>/dev/null | sort -V | tail -n 1
}

# The failures of this job since its newest checkpoint, a line each: Slurm keeps no count of them, and the log may be anywhere.
# Nodes may see the directory of submission read-only.
failures_file() {
  local folder=${SLURM_SUBMIT_DIR:-$PWD} run
  run=$(path_of run.directory)
  if [[ ! -w $folder && -w $run ]]; then folder=$run; fi
  echo "$folder/.triax-$job.failures"
}
forget_failures() { rm -f "$(failures_file)"; }

# is_worth_a_try STATUS LAST_LINE: whether to run a job again that has failed with STATUS: RETRIES times, and once where this
# attempt has left metrics.jsonl with its LAST_LINE, for a run that comes to no step will hardly come to one.
is_worth_a_try() {
  local file newest stepped=yes count idle retries=${RETRIES:-3}
  file=$(failures_file)
  newest=$(newest_checkpoint)
  # Where it is not known where the run writes, RETRIES alone counts.
  if [[ -n $(path_of run.directory) && $(last_line) == "$2" ]]; then stepped=no; fi
  # Behind a new checkpoint the count begins anew: a long run may meet any number of bad nodes.
  if ! grep -qF "behind ${newest:-nothing}," "$file" 2>/dev/null; then forget_failures; fi
  if ! echo "$(date +%FT%T) status $1 behind ${newest:-nothing}, steps: $stepped" >>"$file"; then
    echo "$name: job $job is not run again: how often it has failed cannot be kept in $file" >&2
    return 1
  fi
  count=$(grep -c . "$file")
  idle=$(grep -c 'steps: no$' "$file")
  if [[ $count -gt $retries ]]; then
    echo "$name: job $job is not run again: it has failed $count times since its newest checkpoint (RETRIES=$retries)" >&2
    return 1
  elif [[ $idle -gt 1 ]]; then
    echo "$name: job $job is not run again: it has ended $idle times before its first step" >&2
    return 1
  fi
}

# run_again STATUS: ends the script so that Slurm runs the job again, from the newest checkpoint.
run_again() {
  if [[ ${REQUEUE:-yes} == no ]]; then  # jobs/chain.sh: the next segment goes on
    [[ $1 -ne 75 ]] || exit 0
    exit "$1"
  fi
  if [[ $(job_says Requeue) == 0 ]]; then
    echo "$name: job $job was submitted with --no-requeue. Submit it again: it goes on from its newest checkpoint"
    end_job "$1" 0
  fi
  # One that was cancelled, or has no time left to be asked, is not to come back. Where Slurm says nothing it is neither.
  local state
  state=$(thrice squeue --noheader --states=all --format=%T --jobs="$job") || state=
  [[ ${state:-RUNNING} == RUNNING ]] || end_job "$1"
  if requeues_stopped; then exit 75; fi
  thrice scontrol requeue "$job" || {
    echo "$name: Slurm does not requeue job $job. Submit it again: it goes on from its newest checkpoint" >&2
    end_job "$1"
  }
  trap - USR1 TERM USR2
  sleep 60  # Slurm ends the script
  exit "$1"
}
