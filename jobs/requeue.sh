# shellcheck shell=bash
# shellcheck disable=SC2154
# Training that Slurm runs again until it is done. Sourced by slurm.sh.

# train ARGUMENT...: runs triax train on all ranks, and has the job run again if the run has not come to its end.
train() {
  local status=0 settings before
  need_gpu_code
  # If the job is wrong, the ranks say so too.
  if ! settings=$(timeout -k 5 120 "$triax" config "$@" --ranks "${SLURM_NTASKS:-1}" --json 2>&1); then
    echo "$name: triax config says nothing of where the job writes, so that only RETRIES limits its failures: ${settings:-no answer}" >&2
    settings=
  fi
  before=$(last_line)
  launch "$triax" train "$@" || status=$?
  # A signalled mpiexec may exit with 0 whatever its ranks did. A run that is done ends at once when it runs again.
  if [[ $status == 0 && -n $forwarded && ${LAUNCHER:-srun} == mpiexec ]]; then status=75; fi
  case $status in
    0 | 2) forget_failures; exit "$status" ;;  # done, or wrong: a second try would change nothing
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

# end_job STATUS [INSTEAD]: ends the job with STATUS, or with INSTEAD if Slurm would requeue a job that ends with
# STATUS.
end_job() {
  forget_failures
  if [[ $1 -eq 75 && -n ${2:-} ]] && requeues_stopped; then exit "$2"; fi
  exit "$1"
}

# Whether Slurm requeues a job that ends with 75, whatever sbatch --no-requeue says.
requeues_stopped() { [[ ,$(slurm_setting RequeueExit), == *,75,* ]]; }

# path_of KEY: its value in $settings, without JSON's \\ and never in the form of an option.
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

# File of the failures of this job since its newest checkpoint, one per line: Slurm keeps no count of them, and the log
# may be anywhere. Nodes may see the directory of submission read-only.
failures_file() {
  local folder=${SLURM_SUBMIT_DIR:-$PWD} run
  run=$(path_of run.directory)
  if [[ ! -w $folder && -w $run ]]; then folder=$run; fi
  echo "$folder/.triax-$job.failures"
}
forget_failures() { rm -f "$(failures_file)"; }

# is_worth_a_try STATUS LAST_LINE: whether to run a job again that failed with STATUS: RETRIES times, but only once if
# this attempt left LAST_LINE the last of metrics.jsonl: a run that made no step will hardly make one.
is_worth_a_try() {
  local file newest stepped=yes count idle retries=${RETRIES:-3}
  file=$(failures_file)
  newest=$(newest_checkpoint)
  # If the run's directory is not known, RETRIES alone counts.
  if [[ -n $(path_of run.directory) && $(last_line) == "$2" ]]; then stepped=no; fi
  # After a new checkpoint the count begins anew: a long run may meet any number of bad nodes.
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

# run_again STATUS: ends the script so that Slurm runs the job again from the newest checkpoint.
run_again() {
  if [[ ${REQUEUE:-yes} == no ]]; then  # jobs/chain.sh: the next segment continues
    [[ $1 -ne 75 ]] || exit 0
    exit "$1"
  fi
  if [[ $(job_says Requeue) == 0 ]]; then
    echo "$name: job $job was submitted with --no-requeue. Submit it again: it continues from its newest checkpoint"
    end_job "$1" 0
  fi
  # A job that was cancelled, or that is ending, must not come back. If Slurm does not answer, it is neither.
  local state
  state=$(thrice squeue --noheader --states=all --format=%T --jobs="$job") || state=
  [[ ${state:-RUNNING} == RUNNING ]] || end_job "$1"
  if requeues_stopped; then exit 75; fi
  thrice scontrol requeue "$job" || {
    echo "$name: Slurm does not requeue job $job. Submit it again: it continues from its newest checkpoint" >&2
    end_job "$1"
  }
  trap - USR1 TERM USR2
  sleep 60  # Slurm ends the script
  exit "$1"
}
